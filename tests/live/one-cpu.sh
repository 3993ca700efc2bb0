# Four threads of one group on one CPU, under a quota of 20 %. The kernel counts the throttled time once, and each of
# them loses all of it.
. "$repo/tests/lib.sh"
. "$repo/tests/lib-cgroup.sh"

begin "each thread: 5 % run, throttled as long as the group was"
set_up_groups
make_group four
set_quota four 20000
spin four -N shared -n 4 -c 0
sleep 0.5
measure 4 1
true_share=$(awk -v t="$(moved four throttled_ns)" -v i="$interval_ns" 'BEGIN { print t / i }')
want_that "the group was throttled about 80 %" between 0.65 "$true_share" 0.85
for tid in $spin_tids; do
	row=$(ask threads tid,run_ns,wait_ratio,throttled_ratio,throttled_low_ratio,throttled_high_ratio |
		awk -F'\t' -v tid="$tid" '$1 == tid')
	want_that "$tid runs 5 %" near "$(echo "$row" | awk -F'\t' -v i="$interval_ns" '{ print $2 / i }')" 0.05 0.025
	want_that "$tid waits 95 %" near "$(echo "$row" | cut -f 3)" 0.95 0.03
	want_that "$tid is throttled as the group" near "$(echo "$row" | cut -f 4)" "$true_share" 0.07
	want_that "$tid: tight bounds" awk -v r="$row" 'BEGIN { split(r, f, "\t"); exit f[6] - f[5] > 0.1 }'
done
want_that "these findings" only_findings "cpuwait.throttled $base_path/four"

begin "run times of the threads add up to what the group used"
sum=$(ask threads cgroup,run_ns | awk -F'\t' -v g="$base_path/four" '$1 == g { s += $2 } END { printf "%.0f\n", s }')
used=$(ask cgroups cgroup,used_cpus | awk -F'\t' -v g="$base_path/four" -v i="$interval_ns" '$1 == g { printf "%.0f\n", $2 * i }')
want_that "$sum ns and $used ns" near "$(awk -v a="$sum" -v b="$used" 'BEGIN { print b ? a / b : 0 }')" 1 0.06

begin "--by process: all threads in one row, nothing cut at 100 %"
run "$PERFBOX" cpuwait --root "$saved" --by process --tsv --no-header --table processes --columns tgid,threads,wait_ratio
row=$(awk -F'\t' -v pid="$spin_pid" '$2 == pid' "$out")
want_that "five threads" [ "$(echo "$row" | cut -f 3)" = 5 ]
want_that "380 % wait" near "$(echo "$row" | cut -f 4)" 3.80 0.15

finish
