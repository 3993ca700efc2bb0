# Two threads that may use the last CPU only, while another is idle.
. "$repo/tests/lib.sh"
. "$repo/tests/lib-cgroup.sh"

begin "a pair pinned to one CPU: pinned names it, and the idle CPU"
[ "$cpus" -ge 2 ] || skip_all "one CPU only"
set_up_groups
make_group pair
last=$((cpus - 1))
spin pair -N pair -n 2 -c "$last"
sleep 0.5
measure 2.5 1
busiest=0
for cpu in $(seq 0 $((cpus - 2))); do
	idle=$(idle_percent "cpu$cpu")
	[ "$idle" -le "$busiest" ] || busiest=$idle
done
if [ "$busiest" -lt 55 ]; then
	if [ "$busiest" -lt 45 ]; then
		want_that "no other CPU is idle ($busiest %): nothing to say" only_findings ''
	fi
	end
	begin "... and the finding"
	skip_test "no other CPU was idle: $busiest %"
else
	"$PERFBOX" cpuwait --root "$saved" --tsv --no-header --table findings >"$work/findings" 2>/dev/null || :
	want_that "status 1" [ "$live_status" = 1 ]
	want_that "one finding" [ "$(grep -c 'cpuwait.pinned' "$work/findings")" = 1 ]
	want_match "$work/findings" "cpuwait.pinned	now		pair/$spin_pid tid ($(echo "${spin_tids% }" | tr ' ' '|'))	"
	want_match "$work/findings" "allowed_cpus=$last;"
	want_match "$work/findings" ';threads=2;'
	want_unlike "$work/findings" 'throttled|cpu-saturated'
fi
for tid in $spin_tids; do
	want_that "$tid queues 50 %" near "$(ask threads tid,queue_ratio | awk -F'\t' -v tid="$tid" '$1 == tid { print $2 }')" 0.5 0.08
done

finish
