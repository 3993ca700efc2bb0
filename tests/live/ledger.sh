# offcpu --ledger: threads whose time is known, against what the program saw itself and the kernel's own counters.
. "$repo/tests/lib.sh"
. "$repo/tests/lib-cgroup.sh"

waits=$O/tests/live/waits
[ -x "$waits" ] || skip_all "$waits is not built"
set_up_groups
make_group load
make_group quota
set_quota quota 20000
engines=bpf
run "$PERFBOX" offcpu --ledger --engine bpf -q 0.1 1
[ "$status" = 3 ] && engines= && echo "skip live/ledger: no BPF: $(head -n 1 "$err")"
engines="$engines proc"

# In the test's own group, which other load here does not delay; in place of this shell, so behind an &.
apart()
{
	exec sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$base/load" "$@"
}

# ledger ENGINE SECONDS OPTIONS...: saved, one interval
ledger()
{
	engine=$1 seconds=$2
	shift 2
	runs=$((runs + 1))
	saved=$work/run$runs
	in_time "$PERFBOX" offcpu --ledger --engine "$engine" --save "$saved" "$@" "$seconds" 1
	cp "$out" "$work/live.out"
	options=$*
}

# column NAMES: of its rows, by replay
column()
{
	"$PERFBOX" offcpu --ledger --root "$saved" $options --tsv --no-header --columns "$1" 2>/dev/null | cut -f 2-
}

adds_up()
{
	column wall_ns,run_ns,waiting_ns,sleeping_ns,woken_ns,preempted_ns,throttled_ns,lock_ns,futex_ns,disk_ns,net_ns,timer_ns,poll_ns,other_ns | awk -F'\t' -v exact="$1" '
		{
			n++
			sum = $2 + $3 + $4
			parts = $2 + $5 + $6 + $7 + $8 + $9 + $10 + $11 + $12 + $13 + $14
			off = sum > $1 ? sum - $1 : $1 - sum
			if (off > $1 * 0.0005 + 2) { print "row " NR ": " sum " of " $1; bad = 1 }
			off = parts > $1 ? parts - $1 : $1 - parts
			if (exact && off > $1 * 0.0005 + 2) { print "row " NR ": parts " parts " of " $1; bad = 1 }
		}
		END { if (!n) print "no rows"; exit bad || !n }'
}

for engine in $engines; do
	begin "$engine: all threads of the host: rows add up to the time that passed"
	ledger "$engine" 1
	want_that "each row" adds_up "$([ "$engine" = bpf ] && echo 1)"
	"$PERFBOX" offcpu --ledger --root "$saved" $options >"$work/replayed" 2>/dev/null
	want_that "replays to the byte" cmp "$work/live.out" "$work/replayed"

	begin "$engine: asleep for the whole window: all of it, by what it sleeps for"
	"$waits" asleep &
	pids="$pids $!"
	asleep=$!
	sleep 120 &
	pids="$pids $!"
	timer=$!
	sleep 0.3
	ledger "$engine" 2 -p "$asleep,$timer"
	row=$(column tgid,wall_ns,timer_ns,poll_ns,run_ns | awk -F'\t' -v t="$timer" '$1 == t')
	want_that "the timer's" near "$(echo "$row" | awk -F'\t' '{ print $3 / $2 }')" 1 0.01
	want_that "the whole window" near "$(echo "$row" | awk -F'\t' '{ print $2 / 2e9 }')" 1 0.05
	row=$(column tgid,wall_ns,timer_ns,poll_ns,other_ns | awk -F'\t' -v t="$asleep" '$1 == t')
	want_that "the other's is no timer's" near "$(echo "$row" | awk -F'\t' '{ print $3 / $2 }')" 0 0.01
	kill "$asleep" "$timer"

	begin "$engine: a convoy: workers sleep for the lock, the one that holds it for the network"
	apart "$waits" convoy 4 8 >"$work/truth" &
	pids="$pids $!"
	convoy=$!
	sleep 0.7
	ledger "$engine" 4 -p "$convoy"
	want_that "adds up" adds_up "$([ "$engine" = bpf ] && echo 1)"
	share=$(column comm,wall_ns,lock_ns | awk -F'\t' '$1 == "worker" { wall += $2; lock += $3 } END { print lock / wall }')
	net=$(column comm,wall_ns,net_ns,lock_ns | awk -F'\t' '$1 == "refresher" { print $3 / $2 }')
	wait "$convoy"
	true_share=$(awk '$1 == "wait_for_lock" { print $2 / 4 / 8e9 }' "$work/truth")
	want_that "the workers' locks, as they saw it" near "$share" "$true_share" "$([ "$engine" = bpf ] && echo 0.06 || echo 0.15)"
	want_that "the refresher waits for its request" between 0.5 "$net" 1
	want_that "status 1: it is found" [ "$([ "$engine" = bpf ] && echo 1 || echo 0)" = "$status" ]
	if [ "$engine" = bpf ]; then
		want_match out 'offcpu.lock +[^ ]*/'"$convoy"
		want_match out '4 threads waited'
		want_unlike out 'offcpu.queueing'
	fi
done

if [ "${engines#bpf}" != "$engines" ]; then
	begin "spinners on one CPU: preempted, as long as schedstat says"
	spin load -N crowd -n 4 -c 0
	crowd=$spin_pid
	list=$(echo $spin_tids | tr ' ' ',')
	sleep 0.3
	before=$(for t in $spin_tids; do cat "/proc/$t/schedstat"; done | awk '{ n += $2 } END { printf "%.0f", n }')
	began=$(date +%s%N)
	ledger bpf 3 --tid "$list"
	after=$(for t in $spin_tids; do cat "/proc/$t/schedstat"; done | awk '{ n += $2 } END { printf "%.0f", n }')
	share=$(column wall_ns,preempted_ns,woken_ns,timer_ns | awk -F'\t' '{ wall += $1; p += $2 } END { print p / wall }')
	true_share=$(awk -v a="$before" -v b="$after" -v t="$(($(date +%s%N) - began))" 'BEGIN { print (b - a) / 4 / t }')
	want_that "a share" near "$share" "$true_share" 0.06
	want_that "and it is most" between 0.5 "$share" 0.8
	want_that "adds up" adds_up 1
	want_that "four rows" [ "$(column tid | wc -l)" = 4 ]
	want_match out 'offcpu.queueing +[^ ]*/'"$crowd"
	stop_spin "$crowd"

	begin "a quota: throttled, as long as the kernel says, and not preempted"
	spin quota -N throttled
	hurt=$spin_pid
	sleep 0.3
	before=$(stat_of "$base/quota" throttled_ns)
	began=$(date +%s%N)
	ledger bpf 4 -p "$hurt"
	share=$(column comm,wall_ns,throttled_ns | awk -F'\t' '$1 == "throttled" { print $3 / $2 }')
	after=$(stat_of "$base/quota" throttled_ns)
	true_share=$(awk -v a="$before" -v b="$after" -v t="$(($(date +%s%N) - began))" 'BEGIN { print (b - a) / t }')
	want_that "a share" near "$share" "$true_share" 0.05
	want_that "adds up" adds_up 1
	want_match out 'offcpu.throttled +[^ ]*/'"$hurt"
	want_unlike out 'offcpu.queueing +[^ ]*/'"$hurt"

	begin "triage tells it once: cpuwait's finding is the better one"
	run "$PERFBOX" triage 3 1
	want_match out 'cpuwait.throttled +'"$base_path/quota"
	want_unlike out 'offcpu.throttled +[^ ]*/'"$hurt"
	stop_spin "$hurt"

	begin "short sleeps: timer, and the runnable time is not lost in it"
	apart "$waits" sleeps 40 50 >"$work/truth" &
	pids="$pids $!"
	sleeper=$!
	ledger bpf 1.5 -p "$sleeper"
	share=$(column wall_ns,timer_ns | awk -F'\t' '{ print $2 / $1 }')
	want_that "nearly all of it" between 0.97 "$share" 1
	wait "$sleeper"

	begin "fsync: disk, as long as the program waited"
	apart "$waits" fsync "$work/file" 400 >"$work/truth" &
	pids="$pids $!"
	writer=$!
	ledger bpf 1 -p "$writer" 2>/dev/null
	disk=$(column wall_ns,disk_ns,run_ns,waiting_ns | awk -F'\t' '{ print ($2 + $3 + $4) / $1 }')
	want_that "what is not running is the disk's" between 0.9 "${disk:-1}" 1.001
	wait "$writer"

	begin "threads that come and go: each has a row, or its process has"
	ledger bpf 4 -C '^(waits|brief)$' &
	looker=$!
	sleep 1.2
	(apart "$waits" threads 2000) >"$work/truth"
	wait "$looker"
	saved=$work/run$((runs + 1)) options="-C ^(waits|brief)$"
	runs=$((runs + 1))
	exited=$("$PERFBOX" offcpu --ledger --root "$saved" -C '^(waits|brief)$' --tsv --no-header --columns has_exited,woken_ns,timer_ns,tid 2>/dev/null | awk -F'\t' '$2 == "true" || $2 == "1" { n++; timer += $3 + $4 } END { printf "%d %.0f\n", n, timer }')
	want_that "two thousand" between 1990 "${exited% *}" 2010
	want_that "a rest of each, and the wait after it" near "$(echo "${exited#* }" | awk '{ print $1 / 1e9 }')" "$(awk '{ print $2 / 1e9 }' "$work/truth")" 0.3

	begin "nothing of it is left in the kernel"
	if command -v bpftool >/dev/null; then
		run bpftool map show
		want_unlike out 'exited_sums'
	else
		skip_test "no bpftool"
	fi
fi

begin "where BPF is refused /proc answers, and says what it can't see"
if command -v setpriv >/dev/null; then
	run setpriv --bounding-set=-bpf,-perfmon,-sys_admin --inh-caps=-bpf,-perfmon,-sys_admin "$PERFBOX" offcpu --ledger 0.3 1
	want_status 0
	want_match err 'engine /proc, BPF is refused: .*CAP_BPF'
	want_match out '^sampled'
	run setpriv --bounding-set=-bpf,-perfmon,-sys_admin --inh-caps=-bpf,-perfmon,-sys_admin "$PERFBOX" offcpu --ledger --engine bpf 0.3 1
	want_status 3
else
	skip_test "no setpriv"
fi

finish
