# A group that runs out of quota now and then, and loses little: a row, no finding, status 0.
. "$repo/tests/lib.sh"
. "$repo/tests/lib-cgroup.sh"

begin "throttled for moments every 2 s: a row, and nothing found"
set_up_groups
make_group now-and-then
set_quota now-and-then 50000
# 110 ms of work every 2 s: more than two periods give, however they lie
spin now-and-then -N bursty -d 5.5 -p 2000
sleep 1
measure -G "$base_path/now-and-then" 10 1
selection="-G $base_path/now-and-then"
throttled=$(moved now-and-then nr_throttled)
share=$(percent "$(moved now-and-then throttled_ns)" "$interval_ns")
if [ "$throttled" -lt 3 ] || [ "$share" -ge 9 ]; then
	skip_test "it was throttled $throttled times, $share % of the time: not what this is about"
else
	want_that "status 0: $live_status" [ "$live_status" = 0 ]
	want_that "no finding" only_findings ''
	row=$(ask cgroups cgroup,throttled_periods,throttled_ns | awk -F'\t' -v g="$base_path/now-and-then" '$1 == g')
	want_that "its row says how often" [ "$(echo "$row" | cut -f 2)" = "$throttled" ]
	want_that "and how long" [ "$(echo "$row" | cut -f 3)" = "$(moved now-and-then throttled_ns)" ]
fi

finish
