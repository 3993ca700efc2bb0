# Waits that are known: where, how long, for what, and who ended them; compared with what the program saw itself.
. "$repo/tests/lib.sh"

waits=$O/tests/live/waits
slack=${LIVE_SLACK:-1}
names='^(waits|worker|refresher|downstream|spinner|brief)$'

[ -x "$waits" ] || skip_all "$waits is not built"
"$PERFBOX" offcpu -q -f 0.1 >"$work/probe" 2>"$work/probe.err" ||
	skip_all "off-CPU time can't be measured: $(head -n 1 "$work/probe.err")"

# watch SECONDS OPTIONS... : offcpu runs in the background, and has begun; its output is $work/watched
watch()
{
	seconds=$1
	shift
	"$PERFBOX" offcpu -q "$@" "$seconds" >"$work/watched" 2>"$work/watched.err" &
	watcher=$!
	for _ in $(seq 1 100); do
		ls -l /proc/$watcher/fd 2>/dev/null | grep -q 'bpf_link\|bpf-link' && break
		sleep 0.1
	done
	sleep 0.5
}

# unwatch: what it watched is over
unwatch()
{
	kill -TERM $watcher
	wait $watcher
	status=$?
	ran="offcpu" out=$work/watched err=$work/watched.err
}

# sum FILE PATTERN: microseconds of all stacks that match
sum()
{
	grep -a -E "$2" "$1" | awk '{ n += $NF } END { printf "%.0f\n", n }'
}

# near TRUTH-NS COUNT HAS-US: within 2 % or 1 ms, and what the calls themselves take on a CPU
near()
{
	awk -v t="$1" -v n="$2" -v h="$3" -v s="$slack" 'BEGIN {
		t /= 1000; d = t > h ? t - h : h - t
		may = t * 0.02 > 1000 ? t * 0.02 : 1000
		exit !(d <= (may + n * 60) * s)
	}'
}

# truth: the helper's line: $ns, $count
truth()
{
	ns=$(awk '{ print $2 }' "$work/truth")
	count=$(awk '{ print $3 }' "$work/truth")
}

begin "sleep: 20 times 100 ms, in its stack, for a timer"
watch 60 -f -C "$names"
"$waits" sleeps 20 100 >"$work/truth"
unwatch
truth
has=$(sum "$out" '^waits;.*main;nap;.*nanosleep')
want_that "$has us and not $ns ns" near "$ns" "$count" "$has"
want_that "the stack ends in the kernel" grep -q 'main;.*hrtimer_nanosleep' "$out"

begin "a convoy: the lock, its holder, and what that one waits for"
watch 60 -C "$names" --locks
"$waits" convoy 4 3 >"$work/truth"
unwatch
truth
want_that "a finding: status 1 and not $status" [ "$status" = 1 ]
want_match out 'now +offcpu.lock +lock 0x[0-9a-f]+ of worker/'
want_match out 'woken +by refresher/[0-9]+ tid [0-9]+, which itself waited for network'
want_match out 'in +.*unix_stream_read.* < refresh_cache < refresher'
want_match out 'waits +in .*lock.* < worker'
watch 60 -C "$names" --json
"$waits" convoy 4 3 >"$work/truth"
unwatch
truth
field()
{
	sed -n "s/.*\"id\":\"offcpu.lock\".*\"$1\":\"\{0,1\}\([^,\"}]*\).*/\1/p" "$out"
}
want_that "$(field waited_ns) ns of $ns" near "$ns" "$count" "$(($(field waited_ns) / 1000))"
want_that "4 waiters" [ "$(field waiters)" = 4 ]
want_that "at once $(field at_once)" [ "$(field at_once)" -ge 2 ]
want_that "the holder" [ "$(field holder)" = refresher ]
want_that "one lock" [ "$(grep -c '"id":"offcpu.lock"' "$out")" = 1 ]
want_that "no disk" [ "$(grep -c '"id":"offcpu.disk"' "$out")" = 0 ]

begin "who woke: the waker's stack behind the waiter's"
watch 60 -f -C '^(worker|refresher)$' --wakers --waker-depth 2
"$waits" convoy 2 2 >"$work/truth"
unwatch
want_that "refresher is woken by downstream, by its write" grep -q '^refresher;.*unix_stream_read_generic;--;.*unix_stream_sendmsg_\[w\];.*downstream_\[w\]$\|^refresher;.*;--;.*unix_stream_sendmsg_\[w\];.*downstream_\[w\] ' "$out"
want_that "worker is woken by refresher" grep -q '^worker;.*futex.*;--;.*futex_wake_\[w\];.*refresher_\[w\]' "$out"

begin "fsync is a disk's"
mkdir -p "$work/disk"
watch 60 -f -C "$names"
"$waits" fsync "$work/disk/file" 40 >"$work/truth"
unwatch
truth
# what fsync does on a CPU is not waiting
has=$(sum "$out" '^waits;.*fsync')
want_that "at most $ns ns: $has us" awk -v t="$ns" -v h="$has" 'BEGIN { exit !(h * 1000 <= t * 1.02) }'
if [ "$has" = 0 ]; then
	skip_test "fsync does not wait on this file system"
fi

begin "ping-pong over pipes"
watch 60 -f -C "$names"
"$waits" pingpong 5000 >"$work/truth"
unwatch
truth
has=$(sum "$out" '^waits;.*pipe_read')
want_that "both wait in pipe_read, $has us" [ "$has" -gt 0 ]
want_that "not longer than it took" awk -v t="$ns" -v h="$has" 'BEGIN { exit !(h <= 2.2 * t / 1000 + 1000) }'

begin "spinners on one CPU: preempted, never asleep"
watch 60 -f -C "$names"
"$waits" spin 3 400 >"$work/truth"
unwatch
truth
has=$(sum "$out" '^spinner;.*\[(preempted|throttled|runnable)\]')
want_that "$has us and not $ns ns" near "$ns" 20 "$has"
want_that "preempted" [ "$(sum "$out" '^spinner;.*\[preempted\]')" -gt $((has * 9 / 10)) ]

begin "asleep all the time: counted for the window"
"$waits" asleep &
pid=$!
run "$PERFBOX" offcpu -q -f -p $pid 2
want_status 0
want_that "2 s" near 2000000000 1 "$(sum "$out" '^idle;signal;waits;.*pause')"
run "$PERFBOX" offcpu -q -f --completed-only -p $pid 0.5
want_that "other tools see nothing" [ ! -s "$out" ]
run "$PERFBOX" offcpu -q -f --no-idle -p $pid 0.5
want_that "nor does --no-idle" [ ! -s "$out" ]
kill $pid
wait $pid 2>/dev/null

begin "10,000 short threads, all of them"
watch 120 -f -C "$names"
"$waits" threads 10000 >"$work/truth"
unwatch
truth
want_that "all rested: $(sum "$out" 'start_thread;.*nanosleep') us of $ns ns" near "$ns" "$count" "$(sum "$out" 'start_thread;.*nanosleep')"

begin "processes that begin and end meanwhile have names"
watch 120 -f -C "$names"
"$waits" forks 100 >"$work/truth"
unwatch
has=$(sum "$out" '^brief;.*main;brief;.*nanosleep')
want_that "100 times 2 ms: $has us" awk -v h="$has" -v s="$slack" 'BEGIN { exit !(h >= 199000 && h < 400000 * s) }'

begin "names of any bytes"
watch 60 -f
"$waits" names
unwatch
want_that "semicolon and blank" grep -q -a '^a:b_c;.*named' "$out"
want_that "control bytes" grep -q -a '^x\\x0ay\\x09z;' "$out"
want_that "escape" grep -q -a '^\\x1b\[31mred;' "$out"
want_that "no name" grep -q -a '^\[nameless\];.*named' "$out"
want_that "lines end in numbers" [ "$(grep -a -c -v ' [0-9][0-9]*$' "$out")" = 0 ]

begin "least and most: no wait outside them"
watch 60 -f -C "$names" -m 50000 -M 200000
"$waits" sleeps 5 20
"$waits" sleeps 5 100 >"$work/truth"
"$waits" sleeps 1 400 >"$work/other"
unwatch
truth
has=$(sum "$out" '^waits;.*nanosleep')
want_that "only those of 100 ms: $has us" near "$ns" "$count" "$has"

begin "-p of another sees nothing of them, -M below -m is refused"
sleep 60 &
pid=$!
watch 60 -f -p $pid
"$waits" sleeps 5 20 >"$work/truth"
unwatch
want_that "none" [ "$(grep -c waits "$out")" = 0 ]
want_that "but sleep itself" grep -q 'sleep;.*nanosleep' "$out"
kill $pid
wait $pid 2>/dev/null
out=$work/out err=$work/err
run "$PERFBOX" offcpu -m 20 -M 10
want_status 2
run "$PERFBOX" offcpu -p 4194305 1
want_status 3
want_match err 'no process 4194305'
run "$PERFBOX" offcpu -q -f -m 18446744073709551614 0.1
want_status 0

begin "more stacks than there is room for: counted, said, and their time stays"
"$PERFBOX" offcpu -f -C "$names" --stack-storage 64 60 >"$work/watched" 2>"$work/watched.err" &
watcher=$!
sleep 1.5
"$waits" stacks 400 >"$work/truth"
unwatch
want_match err 'offcpu.lost-stacks: .*next: perfbox offcpu --stack-storage 256'

begin "a saved run gives the same bytes again"
"$waits" sleeps 100 20 >/dev/null &
pid=$!
run "$PERFBOX" offcpu --save "$work/saved" -p $pid --json 1
kill $pid
wait $pid 2>/dev/null
cp "$out" "$work/first.json"
run "$PERFBOX" offcpu --root "$work/saved" -p $pid --json
want_that "the same" cmp -s "$out" "$work/first.json"
want_that "something" [ -s "$out" ]

begin "nothing is left attached, however it ends"
links()
{
	for f in /proc/[0-9]*/fdinfo/*; do
		sed -n 's/^prog_tag:/&/p' "$f" 2>/dev/null
	done | wc -l
}
before=$(links)
for signal in INT TERM KILL; do
	"$PERFBOX" offcpu -q -f 60 >"$work/ended" 2>&1 &
	pid=$!
	sleep 1
	want_that "attached" [ "$(links)" -gt "$before" ]
	if [ $signal = INT ]; then kill -TERM $pid; else kill -$signal $pid; fi
	wait $pid 2>/dev/null
	sleep 0.3
	want_that "$signal: $(links) links, $before before" [ "$(links)" -le "$before" ]
done
finish
