# Recordings that perf makes here, read by us and by perf: sample by sample the same addresses, and stack by
# stack the same names. The program's stacks and shares are known too: see knownstacks.c.
. "$repo/tests/lib.sh"

command -v perf >/dev/null 2>&1 || skip_all "there is no perf"
oracle=$O/tests/unit/perforacle
program=$O/tests/live/knownstacks
perf record -q -e cpu-clock -o "$work/try.data" true >/dev/null 2>&1 || skip_all "perf cannot record cpu-clock here"

# record NAME OPTIONS... -- OPTIONS OF ITS: $work/NAME.data
record()
{
	name=$1
	shift
	options=
	while [ "$1" != -- ]; do
		options="$options $1"
		shift
	done
	shift
	# shellcheck disable=SC2086
	perf record -q -F 997 $options -o "$work/$name.data" "$program" "$@" >"$work/perf.out" 2>&1
}

# same_samples NAME: perforacle has the details
same_samples()
{
	perf script --ns --no-inline -F comm,pid,tid,time,period,event,ip -i "$work/$1.data" >"$work/$1.txt" 2>/dev/null
	run "$oracle" "$work/$1.data" "$work/$1.txt"
	want_status 0
}

# Of perf's text: stacks of one event, from main on (what stands above it are return addresses of the C library,
# which perf looks up one byte too far), and their weights.
fold_perf()
{
	perf script --no-inline -F comm,pid,tid,time,period,event,ip,sym,dso -i "$1" 2>/dev/null | awk -v want=cpu-clock '
		function flush() {
			if (comm != "" && event == want)
				sum[comm stack] += weight
			comm = stack = ""
		}
		/^[ ]*$/ { flush(); next }
		/^\t/ {
			name = $0
			sub(/^[ \t]*[0-9a-f]+ /, "", name)
			sub(/ \([^(]*\)$/, "", name)
			sub(/\+0x[0-9a-f]+$/, "", name)
			stack = ";" (name == "[unknown]" ? "[?]" : name) stack
			next
		}
		{
			flush()
			match($0, / [0-9]+\.[0-9]+: /)
			comm = substr($0, 1, RSTART - 1)
			split(substr($0, RSTART + RLENGTH), word)
			sub(/ +[0-9\/]+ *$/, "", comm)
			sub(/^ +/, "", comm)
			gsub(/ /, "_", comm)
			weight = word[1]
			event = word[2]
			sub(/:$/, "", event)
		}
		END {
			flush()
			for (s in sum)
				printf "%s %d\n", s, sum[s]
		}' | from_main
}

from_main()
{
	sed -E -e 's/\[[^];]*\+0x[0-9a-f]+\]/[?]/g' -e 's/\[unknown\]/[?]/g' -e 's/__vdso_[a-z_]*/[?]/g' \
		-e 's/;.*;(__libc_start_call_main|main);/;\1;/' -e 's/;.*;main;/;main;/' |
		awk '{ n[substr($0, 1, length($0) - length($NF) - 1)] += $NF }
			END { for (s in n) printf "%s %d\n", s, n[s] }' | sort
}

# same_stacks NAME
same_stacks()
{
	fold_perf "$work/$1.data" >"$work/theirs"
	run "$PERFBOX" flamefold --event cpu-clock "$work/$1.data"
	want_status 0
	from_main <"$out" >"$work/ours"
	want_that "perf has stacks" [ -s "$work/theirs" ]
	want_that "the same stacks" diff "$work/theirs" "$work/ours"
}

# share NAME FUNCTION: percent of the weight below work, in stacks of `we ird`
share()
{
	awk -v f=";$1" '
		/;work;/ { all += $NF; if (index($0, f ";") || index($0, f " ")) part += $NF }
		END { printf "%d", all ? 100 * part / all : -1 }' "$out"
}

begin "frame pointers, exec and fork"
record fp -e cpu-clock -g -- -f -s 0.3
same_samples fp
same_stacks fp
for comm in 'we_ird:1_\(x\)_7' kid/0:2 grown_up; do
	want_match out "^$comm;.*main;(deeper;){9}work;steady;turn "
done
steady=$(share steady)
want_that "steady has 75 % of the time, not $steady" test "$steady" -ge 68 -a "$steady" -le 82

begin "compressed"
record zstd -e cpu-clock -g -z -- -f -s 0.2
same_samples zstd
same_stacks zstd

begin "several events: the first in the order they were asked for is folded, all are listed"
record several -e cpu-clock,page-faults,task-clock -g -- -s 0.2
same_samples several
same_stacks several
run "$PERFBOX" flamefold "$work/several.data"
want_match err 'cpu-clock [0-9]+ \(folded\), .*task-clock [0-9]+'
want_match out 'work;steady'

begin "a group that its leader samples"
record group -e '{cpu-clock,page-faults}:S' -g -- -s 0.2
same_samples group

begin "a stream, through a pipe and saved"
perf record -q -F 997 -e cpu-clock -g -o - "$program" -f -s 0.2 >"$work/stream.data" 2>/dev/null
same_samples stream
same_stacks stream
run sh -c '"$PERFBOX" flamefold --event cpu-clock - <"$1"' sh "$work/stream.data"
want_status 0
from_main <"$out" >"$work/redirected"
run sh -c 'cat "$1" | "$PERFBOX" flamefold -' sh "$work/stream.data"
want_status 0
from_main <"$out" >"$work/piped"
want_that "the same through a pipe" cmp "$work/piped" "$work/redirected"
run sh -c 'cat "$1" | "$PERFBOX" flamefold -' sh "$work/fp.data"
want_status 0
from_main <"$out" >"$work/piped"
run "$PERFBOX" flamefold "$work/fp.data"
from_main <"$out" >"$work/direct"
want_that "a file through a pipe is the file" cmp "$work/piped" "$work/direct"

begin "a folder, threads"
if perf record -q --threads -F 997 -e cpu-clock -g -o "$work/threads.data" "$program" -t 3 -s 0.1 >/dev/null 2>&1 &&
	[ -d "$work/threads.data" ]; then
	same_samples threads
	same_stacks threads
else
	skip_test "this perf records no folders"
fi

begin "build ids in place of inodes; no callchains; all CPUs"
record ids -e cpu-clock -g --buildid-mmap -- -s 0.1
same_samples ids
same_stacks ids
record bare -e cpu-clock -- -s 0.1
same_samples bare
record all -e cpu-clock -g -a -- -s 0.2
same_samples all

begin "stack dumps: whole stacks without frame pointers"
record dwarf -e cpu-clock --call-graph dwarf,8192 -- -s 0.2
same_samples dwarf
run "$PERFBOX" flamefold "$work/dwarf.data"
want_status 0
want_match out '^we_ird:1_\(x\)_7;_start;.*;main;(deeper;){9}work;steady;spin;turn '
steady=$(share steady)
want_that "steady has 75 % of the time, not $steady" test "$steady" -ge 60 -a "$steady" -le 90

begin "cut anywhere: what is whole is kept, what is lost is said, status 3"
size=$(wc -c <"$work/fp.data")
whole=$("$PERFBOX" flamefold --weight samples "$work/fp.data" 2>/dev/null | awk '{ n += $NF } END { print n }')
before=0
for part in 30 50 70 90; do
	head -c $((size * part / 100)) "$work/fp.data" >"$work/cut.data"
	run "$PERFBOX" flamefold --weight samples "$work/cut.data"
	got=$(awk '{ n += $NF } END { print n + 0 }' "$out")
	want_that "$part %: $got of $whole samples, more than $before" test "$got" -gt "$before" -a "$got" -le "$whole"
	if [ "$got" -lt "$whole" ]; then
		want_status 3
		want_match err 'cut'
	fi
	before=$((got - 1))
done
printf '2ELIFREP%096d' 0 >"$work/swapped.data"
run "$PERFBOX" flamefold "$work/swapped.data"
want_status 3
want_empty out
want_match err 'the other byte order'

finish
