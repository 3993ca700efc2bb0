# More spinning threads than CPUs, no quota: all of their wait is queue, and the machine is full.
. "$repo/tests/lib.sh"
. "$repo/tests/lib-cgroup.sh"

begin "four per CPU: all of their wait is queue, none of it throttling"
set_up_groups fair
make_group many
count=$((4 * cpus))
[ "$count" -le 256 ] || count=256
spin many -N crowd -n "$count"
sleep 1
measure 3 1
"$PERFBOX" cpuwait --root "$saved" --tsv --no-header --top 0 --columns comm,cgroup,run_ns,wait_ratio,throttled_ratio,queue_ratio \
	2>/dev/null | cut -f 2- | awk -F'\t' -v g="$base_path/many" '$2 == g && $1 == "crowd"' >"$work/rows"
# on a quiet machine 75 % on average (how evenly is the scheduler's affair); whatever else runs here adds to that
want_lines "$work/rows" "$count"
want_that "none is throttled" awk -F'\t' '$5 != 0 { print; exit 1 }' "$work/rows"
want_that "all wait is queue" awk -F'\t' '$6 != $4 { print; exit 1 }' "$work/rows"
want_that "run and queue are the interval" awk -F'\t' -v i="$interval_ns" -v off="$(awk -v s="$slack" 'BEGIN { print 0.03 * s }')" '{
	sum = $3 / i + $6
	if (sum < 1 - off || sum > 1 + off) { print sum; bad = 1 }
} END { exit bad }' "$work/rows"
mean=$(awk -F'\t' '{ s += $6 } END { print s / NR }' "$work/rows")
want_that "75 % or more on average" between 0.72 "$mean" 0.98

begin "cpu-saturated names the host, and how many waited"
want_that "status 1" [ "$live_status" = 1 ]
"$PERFBOX" cpuwait --root "$saved" --tsv --no-header --table findings >"$work/findings" 2>/dev/null || :
want_match "$work/findings" 'cpuwait.cpu-saturated	now		host'
want_unlike "$work/findings" 'cpuwait.throttled|cpuwait.pinned'
queued=$(sed -n 's/.*queued_threads=\([0-9.]*\).*/\1/p' "$work/findings")
want_that "at least ours: 3 per CPU" between $(awk -v n="$cpus" 'BEGIN { print 3 * n * 0.95 }') "$queued" 1000

begin "background work alone (nice 5) is no finding"
stop_spin "$spin_pid"
nice -n 5 "$helpers/spin" -t 30 -g "$base/many" -N background -n "$count" >"$work/tids" 2>/dev/null &
pids="$pids $!"
sleep 1
measure 2 1
if [ "$("$PERFBOX" cpuwait --root "$saved" --tsv --no-header --top 0 --columns comm,queue_ratio 2>/dev/null |
	awk -F'\t' '$2 != "background" { s += $3 } END { print (s > 0.8) }')" = 1 ]; then
	skip_test "something else on this machine is waiting as well"
else
	want_that "no finding" only_findings ''
	"$PERFBOX" cpuwait --root "$saved" --tsv --no-header --table findings >"$work/findings" 2>/dev/null || :
	want_unlike "$work/findings" 'cpu-saturated'
fi

finish
