# A real quota of 10 % on one spinning thread, beside a neighbour without quota and one whose quota is never used up.
. "$repo/tests/lib.sh"
. "$repo/tests/lib-cgroup.sh"

begin "a 10 % quota: about 10 % run, the rest wait, of that nearly all throttle"
set_up_groups
make_group hurt
make_group free
make_group roomy
set_quota hurt 10000
set_quota roomy 90000
spin hurt -N throttled
tid=${spin_tids% }
spin free -N innocent -d 30 -p 20
free_pid=$spin_pid
spin roomy -N innocent -d 20 -p 20
sleep 0.5
before=$(stat_of "$base/hurt" throttled_ns)
measure 4 1
after=$(stat_of "$base/hurt" throttled_ns)
row=$(ask threads tid,user_ratio,system_ratio,wait_ratio,throttled_ratio,queue_ratio,throttled_low_ratio,throttled_high_ratio |
	awk -F'\t' -v tid="$tid" '$1 == tid')
field()
{
	echo "$row" | cut -f "$1"
}
want_that "the thread has a row" [ -n "$row" ]
want_that "run 10 %" near "$(echo "$row" | awk -F'\t' '{ print $2 + $3 }')" 0.10 0.03
want_that "wait 90 %" near "$(field 4)" 0.90 0.05
true_share=$(awk -v t="$(moved hurt throttled_ns)" -v i="$interval_ns" 'BEGIN { print t / i }')
want_that "the kernel throttled it nearly all that time" between 0.75 "$true_share" 1.0
want_that "the bounds hold what the kernel counted" between "$(awk -v x="$(field 7)" 'BEGIN { print x - 0.06 }')" "$true_share" \
	"$(awk -v x="$(field 8)" 'BEGIN { print x + 0.06 }')"
if [ -e "$base/hurt/cpu.stat.local" ]; then
	want_that "throttle is known, and is what the kernel counted" near "$(field 5)" "$true_share" 0.07
	want_that "wait is throttle and queue" near "$(echo "$row" | awk -F'\t' '{ print $5 + $6 }')" "$(field 4)" 0.001
fi

begin "the finding names that group, with the kernel's numbers, and nothing else"
want_that "status 1" [ "$live_status" = 1 ]
want_that "these findings" only_findings "cpuwait.throttled $base_path/hurt"
"$PERFBOX" cpuwait --root "$saved" --json --table findings | grep "\"subject\":\"$base_path/hurt\"" >"$work/finding"
evidence()
{
	sed -n "s/.*\"$1\":\([0-9.]*\).*/\1/p" "$work/finding"
}
want_that "throttled_ns is the saved frames'" [ "$(evidence throttled_ns)" = "$(moved hurt throttled_ns)" ]
# read by hand around it, and so over a little more
want_that "no more than cpu.stat moved around it" [ "$(evidence throttled_ns)" -le $((after - before)) ]
want_that "hardly less" [ "$(evidence throttled_ns)" -ge $(((after - before) / 2)) ]
want_that "throttled_periods" [ "$(evidence throttled_periods)" = "$(moved hurt nr_throttled)" ]
want_that "periods" [ "$(evidence periods)" = "$(moved hurt nr_periods)" ]
want_that "quota 0.1" [ "$(evidence quota_cpus)" = 0.1 ]
want_that "used 0.1" near "$(evidence used_cpus)" 0.1 0.02
want_that "one thread spins, one sleeps" [ "$(evidence threads)" = 2 ]
want_match "$work/finding" "throttled_(time|usec) \+.* in $base/hurt/cpu.stat"
want_match "$work/finding" "perfbox cpuwait -G $base_path/hurt 1"

begin "the command it names shows the same, of that group alone"
run "$PERFBOX" cpuwait -G "$base_path/hurt" --tsv --table threads --columns tid,comm --no-header 1 1
want_status 1
want_match out "	$tid	throttled\$"
want_unlike out 'innocent'

begin "-p: the same finding for its process, none for the neighbour's"
run "$PERFBOX" cpuwait -p "$(echo "$pids" | awk '{ print $1 }')" --tsv --table findings --no-header 1 1
want_status 1
want_match out "cpuwait.throttled.*$base_path/hurt"
run "$PERFBOX" cpuwait -p "$free_pid" --tsv --table findings --no-header 1 1
want_unlike out 'cpuwait.throttled'

begin "what it printed live is what the saved run prints, to the byte"
measure -a --json 0.5 2
cp "$out" "$work/live.json"
"$PERFBOX" cpuwait --root "$saved" -a --json >"$work/again.json" || :
want_that "same bytes" cmp "$work/live.json" "$work/again.json"

finish
