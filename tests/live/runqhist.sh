# cpuwait --hist: loads whose waits are known, against the kernel's own sums and against another tool's histogram.
. "$repo/tests/lib.sh"
. "$repo/tests/lib-cgroup.sh"

set_up_groups
make_group many
make_group quota
make_group quota/below
set_quota quota 10000

run "$PERFBOX" cpuwait --hist 0.1 1
if [ "$status" = 3 ] && grep -Eqi 'bpf|btf|not permitted|this is [0-9]' "$err"; then
	skip_all "BPF can't be used: $(head -n 1 "$err")"
fi

hist()
{
	runs=$((runs + 1))
	saved=$work/run$runs
	in_time "$PERFBOX" cpuwait --hist --save "$saved" "$@"
	cp "$out" "$work/live.out"
}
# replay COLUMNS TABLE OPTIONS...
replay()
{
	columns=$1 table=$2
	shift 2
	"$PERFBOX" cpuwait --hist --root "$saved" --tsv --no-header --table "$table" --columns "$columns" "$@" 2>/dev/null | cut -f 2-
}
# sum_of TIDS: "run_delay runs" of schedstat, summed
sum_of()
{
	for tid in $1; do
		cat "/proc/$tid/schedstat"
	done 2>/dev/null | awk '{ wait += $2; runs += $3 } END { printf "%.0f %.0f\n", wait, runs }'
}

begin "four spinners on one CPU: waits and their sum are the scheduler's"
spin many -N crowd -n 4 -c 0
tids=$spin_tids
list=$(echo $tids | tr ' ' ',')
sleep 0.3
"$PERFBOX" cpuwait --hist --by thread --tid "$list" --save "$work/crowd" 4 1 >"$work/live.out" 2>"$err" &
hist_pid=$!
# both windows begin when the program has attached, and end before it does
sleep 0.8
before=$(sum_of "$tids")
sleep 2
after=$(sum_of "$tids")
wait $hist_pid || add_why "status $?: $(head -n 2 "$err")"
saved=$work/crowd
waited_share=$(echo "$before $after" | awk '{ print ($3 - $1) / 2e9 }')
# of 4 s, at the rate of 2 s
told=$(replay wait_ns,woken,preempted,max_ns,tid threads --by thread --tid "$list" | awk -F'\t' '{ ns += $1; woken += $2; preempted += $3; n++ } END { printf "%.3f %d %d %d\n", ns / 4e9, woken, preempted, n }')
want_that "a row for each" [ "$(echo "$told" | cut -d ' ' -f 4)" = 4 ]
want_that "three of four wait at any time" between 2.0 "$waited_share" 3.6
want_that "as long as schedstat says" near "$(echo "$told" | cut -d ' ' -f 1)" "$waited_share" 0.3
want_that "they never slept: preempted" between 20 "$(echo "$told" | cut -d ' ' -f 3)" 100000
want_that "and were not woken" between 0 "$(echo "$told" | cut -d ' ' -f 2)" "$(echo "$told" | awk '{ print $3 * 0.05 + 4 }')"

begin "what was saved replays to the byte"
"$PERFBOX" cpuwait --hist --by thread --tid "$list" --root "$saved" >"$work/replayed" 2>/dev/null
want_that "the same output" cmp "$work/live.out" "$work/replayed"

begin "of one thread: the sum of its waits is its schedstat's, between two looks of ours"
first=${tids%% *}
hist --tid "$first" --by thread 3 1
"$PERFBOX" cpuwait --tid "$first" --save "$work/plain" 3 1 >/dev/null 2>&1
hist_ns=$(replay wait_ns threads --by thread --tid "$first")
run "$PERFBOX" cpuwait --root "$work/plain" --tid "$first" --tsv --no-header --columns wait_ns
want_that "as much in 3 s" near "$(echo "$hist_ns" | awk '{ print $1 / 3e9 }')" "$(cut -f 2 "$out" | awk '{ print $1 / 3e9 }')" 0.12

begin "filters: a process, a name, a group, a kind; nobody else is counted"
hist -p "$spin_pid" --by process 1 1
want_that "one process" [ "$(replay tgid processes -p "$spin_pid" --by process)" = "$spin_pid" ]
hist -C '^crowd$' --by thread 1 1
want_that "four of that name" [ "$(replay comm threads -C '^crowd$' --by thread | sort | uniq -c | awk '{ print $1 $2 }')" = 4crowd ]
spin quota/below -N throttled
hurt=${spin_tids% }
hurt_pid=$spin_pid
hist -G "$base_path/quota" --by cgroup 2 1
want_that "only that group, its child" [ "$(replay cgroup cgroups -G "$base_path/quota" --by cgroup)" = "$base_path/quota/below" ]
hist --only woken --tid "$first" 1 1
want_that "a spinner is hardly woken" between 0 "$(replay waits waits --only woken --tid "$first")" 5
run "$PERFBOX" cpuwait --hist -p 4194305 1 1
want_status 3
want_match err 'no process 4194305'
run "$PERFBOX" cpuwait --hist -G /perfbox-test-none 1 1
want_status 3

begin "a quota of a tenth: waits of nearly 90 ms, nothing between"
hist --tid "$hurt" 4 1
row=$(replay waits,p50_ns,max_ns waits --tid "$hurt")
long=$(replay low_ns,waits buckets --tid "$hurt" | awk -F'\t' '$1 >= 67108864 && $1 < 200000000 { n += $2 } END { print n + 0 }')
want_that "one a period, of 67 to 134 ms" between 20 "$long" 41
want_that "the longest" between 60000000 "$(echo "$row" | cut -f 3)" 400000000
stop_spin "$hurt_pid"

begin "a thread that gets no CPU is told while it waits"
if command -v chrt >/dev/null && [ "$cpus" -gt 1 ] && [ "$(cat /proc/sys/kernel/sched_rt_runtime_us 2>/dev/null)" != "" ]; then
	hist --by thread --tid "$list" 0.05 1
	pending=$(replay pending waits --by thread --tid "$list")
	want_that "of four on one CPU two or three wait at any moment" between 1 "$pending" 4
else
	skip_test "one CPU"
fi

begin "the same load as another tool's histogram"
tool=
for name in runqlat /usr/sbin/runqlat runqlat-bpfcc /usr/sbin/runqlat-bpfcc; do
	command -v "$name" >/dev/null && tool=$name && break
done
if [ -z "$tool" ]; then
	skip_test "no runqlat (scripts/setup --bench installs it)"
else
	"$tool" -p "$spin_pid" 1 1 >/dev/null 2>&1 || tool=
	pids_of="$(grep -l '^Name:.crowd' /proc/[0-9]*/task/[0-9]*/status 2>/dev/null | cut -d / -f 3 | sort -u | head -n 1)"
	"$tool" -p "$pids_of" 4 1 >"$work/peer" 2>/dev/null &
	peer=$!
	hist -p "$pids_of" 4 1
	wait $peer
	# waits by power of two from 128 us on: theirs of 1,000 ns, ours of 1,024
	awk '$2 == "->" { print $1 * 1000, $5 }' "$work/peer" >"$work/theirs"
	if [ -z "$tool" ] || [ "$(awk '{ n += $2 } END { print n + 0 }' "$work/theirs")" -lt 50 ]; then
		skip_test "it counted nothing: $(head -n 1 "$work/peer")"
	else
		replay low_ns,waits buckets -p "$pids_of" >"$work/ours"
		far=$(awk '
			FNR == NR { for (e = 0; 2 ^ (e + 1) * 1000 <= $1 + 1; e++); theirs[e] += $2; a += $2; next }
			{ for (e = 0; 2 ^ (e + 1) * 1024 <= $1 + 1; e++); ours[e] += $2; b += $2 }
			END {
				for (e = 0; e < 30; e++) {
					p += theirs[e] / a; q += ours[e] / b
					d = p > q ? p - q : q - p
					if (d > far) far = d
				}
				printf "%.3f %.3f\n", far, b / a
			}' "$work/theirs" "$work/ours")
		want_that "their distributions are nowhere further apart than a tenth" between 0 "${far% *}" "$(awk -v s="$slack" 'BEGIN { print 0.10 * s }')"
		want_that "as many waits" between 0.8 "${far#* }" 1.25
	fi
fi

begin "without BPF it says so and shows nothing else"
if command -v setpriv >/dev/null; then
	run setpriv --bounding-set=-bpf,-perfmon,-sys_admin --inh-caps=-bpf,-perfmon,-sys_admin "$PERFBOX" cpuwait --hist 0.1 1
	want_status 3
	want_empty out
	want_match err 'CAP_BPF'
else
	skip_test "no setpriv"
fi

begin "nothing of it is left in the kernel"
if command -v bpftool >/dev/null; then
	run bpftool map show
	want_unlike out 'runqhist'
else
	skip_test "no bpftool"
fi

finish
