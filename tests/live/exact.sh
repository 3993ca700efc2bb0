# --exact: BPF counts each thread's throttling; it must agree with the kernel's own count of the group.
. "$repo/tests/lib.sh"
. "$repo/tests/lib-cgroup.sh"

begin "one thread under a quota: as long as the group was throttled"
set_up_groups
make_group one
make_group four
set_quota one 10000
set_quota four 20000
spin one -N alone
alone=${spin_tids% }
spin four -N shared -n 4 -c 0
shared=$spin_tids
sleep 0.5
run "$PERFBOX" cpuwait --exact -G "$base_path/one" 0.5 1
if [ "$status" = 3 ] && grep -Eqi 'bpf|btf|not permitted|this is [0-9]' "$err"; then
	skip_all "BPF can't be used: $(head -n 1 "$err")"
fi
measure --exact 4 1
selection=--exact
exact()
{
	ask threads tid,throttled_ratio,queue_ratio,throttled_low_ratio,throttled_high_ratio | awk -F'\t' -v tid="$1" -v f="$2" '$1 == tid { print $f }'
}
share()
{
	awk -v t="$(moved "$1" throttled_ns)" -v i="$interval_ns" 'BEGIN { print t / i }'
}
want_that "no complaint" [ "$live_status" = 1 ]
want_that "throttle" near "$(exact "$alone" 2)" "$(share one)" 0.05
want_that "queue is little" between 0 "$(exact "$alone" 3)" 0.15

begin "four threads on one CPU: each of them as long as the group"
for tid in $shared; do
	want_that "$tid" near "$(exact "$tid" 2)" "$(share four)" 0.05
done

begin "the bounds without it hold what it measured"
off=$(awk -v s="$slack" 'BEGIN { print 0.04 + 0.02 * s }')
"$PERFBOX" cpuwait --root "$saved" --tsv --no-header --columns tid,throttled_low_ratio,throttled_high_ratio 2>/dev/null | cut -f 2- >"$work/bounds"
for tid in $alone $shared; do
	low=$(awk -F'\t' -v tid="$tid" -v off="$off" '$1 == tid { print $2 - off }' "$work/bounds")
	high=$(awk -F'\t' -v tid="$tid" -v off="$off" '$1 == tid { print $3 + off }' "$work/bounds")
	want_that "$tid" between "$low" "$(exact "$tid" 2)" "$high"
done

begin "nothing of it is left in the kernel"
if command -v bpftool >/dev/null; then
	run bpftool prog show
	want_unlike out 'throttle'
else
	skip_test "no bpftool"
fi

finish
