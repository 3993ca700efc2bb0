# Recordings of a program whose call tree and split of time are known: 60, 30 and 10 of 100.
. "$repo/tests/lib.sh"

calltree=$O/tests/live/calltree

[ -x "$calltree" ] || skip_all "$calltree is not built"
"$PERFBOX" flamefold --record -q -o "$work/probe" -- true 2>"$work/probe.err" ||
	grep -q 'no samples' "$work/probe.err" || skip_all "nothing can be recorded: $(head -n 1 "$work/probe.err")"

# share FILE FUNCTION: percent of all weight that goes through it
share()
{
	awk -v f="$2" '{
		w = $NF; all += w; line = $0; sub(/ [0-9]+$/, "", line)
		if (index(";" line ";", ";" f ";")) mine += w
	} END { printf "%d\n", all ? 100 * mine / all + 0.5 : -1 }' "$1"
}

# near WANTED FILE FUNCTION: within 3 points
near()
{
	has=$(share "$2" "$3")
	[ "$has" -ge $(($1 - 3)) ] && [ "$has" -le $(($1 + 3)) ]
}

want_shares()
{
	for pair in "60 work_a" "30 work_b" "10 work_c" "60 leaf_a" "30 leaf_b" "30 middle_b" "100 main"; do
		set -- $pair "$1"
		want_that "$2 has $1 % and not $(share "$3" "$2")" near "$1" "$3" "$2"
		set -- "$3"
	done
	want_that "leaf_a is called by work_a alone" [ "$(grep -c 'leaf_a' "$1")" = "$(grep -c 'main;run;work_a;leaf_a' "$1")" ]
}

begin "a command: its shares, and nobody else's"
run "$PERFBOX" flamefold --record -F 997 -o "$work/command" -- "$calltree" 4
want_status 0
want_shares "$work/command"
want_that "calltree is the only root frame" [ "$(cut -d ';' -f 1 "$work/command" | sort -u)" = calltree ]
want_match err 'samples of '
want_match err 'a plateau: turn'

begin "the same with stack dumps"
run "$PERFBOX" flamefold --record --call-graph dwarf -F 499 -o "$work/dwarf" -- "$calltree" 4
if [ "$(uname -m)" = x86_64 ]; then
	want_status 0
	want_shares "$work/dwarf"
	want_that "from the first function on" [ "$(share "$work/dwarf" _start)" -ge 95 ]
else
	skip_test "not on $(uname -m)"
fi

begin "-p: threads of a process that runs already, at the deepest with names"
"$calltree" 6 2 &
pid=$!
sleep 0.5
run "$PERFBOX" flamefold --record -F 499 -p $pid -o "$work/threads" 3
want_status 0
want_shares_of_threads()
{
	for pair in "60 work_a" "30 work_b" "10 work_c"; do
		set -- $pair
		want_that "$2 has $1 % and not $(share "$work/threads" "$2")" near "$1" "$work/threads" "$2"
	done
}
want_shares_of_threads
want_that "the threads' name" [ "$(cut -d ';' -f 1 "$work/threads" | sort -u)" = worker ]
kill $pid 2>/dev/null
wait $pid 2>/dev/null

begin "a process that was started and has ended meanwhile has its names"
run "$PERFBOX" flamefold --record -F 499 -o "$work/child" -- "$calltree" 1 fork
want_status 0
want_that "leaf_a of the child: $(share "$work/child" leaf_a) %" [ "$(share "$work/child" leaf_a)" -ge 40 ]

begin "-a sees it too, and pprof holds the same stacks"
"$calltree" 6 &
pid=$!
run "$PERFBOX" flamefold --record -a -F 997 --include '^calltree$' --pprof -o "$work/all.gz" 4
want_that "status 0, or 3 where others' maps are not to be read" [ "$status" = 0 ] || [ "$status" = 3 ]
run "$PERFBOX" flamefold -q -o "$work/all" "$work/all.gz"
want_that "leaf_a: $(share "$work/all" leaf_a) %" near 60 "$work/all" leaf_a

begin "a live list of functions: three frames, then the end"
run "$PERFBOX" flamefold --functions -p $pid --tsv -q --columns function,self_ratio 0.3 3
want_status 0
want_that "leaf_a in each" [ "$(cut -f 1,2 "$out" | grep -c leaf_a)" = 3 ]
kill $pid 2>/dev/null
wait $pid 2>/dev/null

begin "Ctrl-C ends a recording, and what was taken is written"
"$calltree" 5 &
pid=$!
"$PERFBOX" flamefold --record -q -F 499 -p $pid -o "$work/cut" 30 2>"$work/cut.err" &
recorder=$!
sleep 1.5
want_that "no half a file is there" test ! -e "$work/cut"
kill -INT $recorder
wait $recorder
want_that "status 0" [ $? = 0 ]
want_that "leaf_a is in it" [ "$(share "$work/cut" leaf_a)" -ge 40 ]
kill $pid 2>/dev/null
wait $pid 2>/dev/null

begin "a process that sleeps: expected and taken are said, and where to look"
run "$PERFBOX" flamefold --record -F 999 -o "$work/idle" -- sleep 1.2
want_match err 'flamefold.mostly-off-cpu: sleep: .* expected, .* taken: .* next: perfbox offcpu'
run "$PERFBOX" flamefold --record -F 999 --functions --json -o "$work/idle" -- sleep 1.2
want_that "a finding in JSON" grep -q '"id":"flamefold.mostly-off-cpu","state":"note"' "$work/idle"

begin "page faults: as many as pages are touched"
run "$PERFBOX" flamefold --record -e page-faults -q --by none -o "$work/faults" -- sh -c true
want_that "there are some" [ "$(awk '{ n += $NF } END { print n }' "$work/faults")" -ge 20 ]
run "$PERFBOX" flamefold --stat -e page-faults,context-switches,task-clock --tsv -- sleep 0.2
want_status 0
want_that "it slept: a switch" [ "$(awk '$2 == "context-switches" { print $3 }' "$out")" -ge 1 ]
want_that "it slept: hardly a clock" [ "$(awk '$2 == "task-clock" { print int($3) }' "$out")" -lt 100000000 ]

begin "what this machine can't count is unknown, not 0"
run "$PERFBOX" flamefold --stat --tsv --no-header -e cycles,page-faults -p $$ 0.1 1
want_status 0
if grep -q 'not supported here' "$out"; then
	want_that "no count" [ "$(awk -F '\t' '$2 == "cycles" { print $3 }' "$out")" = "" ]
else
	skip_test "there are hardware counters"
fi

begin "an unprivileged user, own process"
if command -v setpriv >/dev/null && [ "$(id -u)" = 0 ]; then
	# where others may go
	open=$(mktemp -d /tmp/perfbox-flamefold.XXXXXX)
	at_exit "rm -rf '$open'"
	chmod 755 "$open"
	cp "$PERFBOX" "$open/perfbox"
	cp "$calltree" "$open/calltree"
	run setpriv --reuid 65534 --regid 65534 --clear-groups "$open/perfbox" flamefold --record -F 997 -- "$open/calltree" 3
	cp "$out" "$work/own"
	if [ $status = 3 ] && grep -q 'perf_event_open: Permission denied' "$err"; then
		skip_test "kernel.perf_event_paranoid allows nothing here"
	else
		want_status 0
		want_that "leaf_a: $(share "$work/own" leaf_a) %" near 60 "$work/own" leaf_a
		run setpriv --reuid 65534 --regid 65534 --clear-groups "$open/perfbox" flamefold --record -a 1
		want_status 3
		want_match err 'perf_event_paranoid'
	fi
else
	skip_test "no setpriv, or not root"
fi

begin "a closed pipe ends it quietly; a full disk is an error"
run sh -c '"$@" 2>"$0" | head -n 1' "$work/pipe" "$PERFBOX" flamefold --record -q -- "$calltree" 0.5
want_status 0
want_empty "$work/pipe"
if [ -w /dev/full ]; then
	for form in --svg --pprof --speedscope --functions --json -q; do
		run sh -c '"$@" >/dev/full' sh "$PERFBOX" flamefold -q $form "$work/command"
		want_status 3
		want_match err 'space'
	done
fi

begin "a command that fails says so"
run "$PERFBOX" flamefold --record -o "$work/fails" -- sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; exit 7'
want_status 0
want_match err 'sh: ended with status 7'
run "$PERFBOX" flamefold --stat -- sh -c 'kill -9 $$'
want_match err 'sh: ended by signal 9'

begin "-G: a group alone, not what runs beside it"
unified=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
group=perfbox-test-flamefold-$$
if [ -n "$unified" ] && mkdir "$unified/$group" 2>/dev/null; then
	sh -c 'echo $$ >"$1/cgroup.procs" && exec "$2" 4' sh "$unified/$group" "$calltree" &
	inside=$!
	sh -c 'while :; do :; done' &
	beside=$!
	sleep 0.3
	run "$PERFBOX" flamefold --record -F 499 -G "/$group" -o "$work/group" 2
	want_status 0
	want_that "calltree alone" [ "$(cut -d ';' -f 1 "$work/group" | sort -u)" = calltree ]
	kill $inside $beside 2>/dev/null
	wait $inside $beside 2>/dev/null
	rmdir "$unified/$group"
else
	skip_test "no group can be made in a unified hierarchy"
fi

begin "mistakes: no such command, no such process"
run "$PERFBOX" flamefold --record -- /no/such/command
want_status 3
want_match err 'No such file'
run "$PERFBOX" flamefold --record -p 4194303 1
want_status 3
finish
