# The quota is the parent's, the thread the child's. The kernel counts nothing in the child.
. "$repo/tests/lib.sh"
. "$repo/tests/lib-cgroup.sh"

begin "quota on the parent only: the child's thread shows its wait as throttle"
set_up_groups
make_group parent/child
set_quota parent 20000
spin parent/child -N inner -c 0
tid=${spin_tids% }
sleep 0.5
measure 4 1
row=$(ask threads tid,wait_ratio,throttled_ratio,cgroup | awk -F'\t' -v tid="$tid" '$1 == tid')
want_that "its group is the child" [ "$(echo "$row" | cut -f 4)" = "$base_path/parent/child" ]
want_that "wait 80 %" near "$(echo "$row" | cut -f 2)" 0.80 0.05
true_share=$(awk -v t="$(moved parent throttled_ns)" -v i="$interval_ns" 'BEGIN { print t / i }')
want_that "throttle is the parent's" near "$(echo "$row" | cut -f 3)" "$true_share" 0.07
want_that "the child itself was never throttled" [ "$(moved parent/child throttled_ns)" = 0 ]

begin "the parent is named, the child not"
want_that "these findings" only_findings "cpuwait.throttled $base_path/parent"

begin "an inner quota that is larger: the effective one is the parent's"
if [ "$version" = 1 ]; then
	skip_test "v1 refuses a quota above the parent's"
else
	set_quota parent/child 80000
	measure 1.5 1
	row=$(ask cgroups cgroup,quota_cpus,effective_cpus,limited_by | awk -F'\t' -v g="$base_path/parent/child" '$1 == g')
	want_that "own 0.8, effective 0.2, by the parent: $row" [ "$row" = "$(printf '%s\t0.8\t0.2\t%s' "$base_path/parent/child" "$base_path/parent")" ]
	want_that "still only the parent" only_findings "cpuwait.throttled $base_path/parent"
fi

begin "an inner quota that is smaller: the child is named, the parent not"
set_quota parent 90000
set_quota parent/child 10000
sleep 0.3
measure 1.5 1
want_that "these findings" only_findings "cpuwait.throttled $base_path/parent/child"

finish
