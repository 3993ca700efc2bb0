# triage during a real fault, and compare of runs before, during and after.
. "$repo/tests/lib.sh"
. "$repo/tests/lib-cgroup.sh"

# A network namespace of its own, so that packets of this host play no part; steady switches are the load.
if unshare -n true 2>/dev/null; then
	alone='unshare -n'
else
	alone=
fi
set_up_groups
make_group hurt
make_group load
spin load -N ticker -n 4 -d 5 -p 1
load_pid=$spin_pid

triage()
{
	run $alone "$PERFBOX" triage "$@"
}

begin "a throttled group is named once, with proof and what to do next"
set_quota hurt 10000
spin hurt -N throttled
hurt_pid=$spin_pid
sleep 0.3
triage --save "$work/during" 3
want_status 1
want_that "once" [ "$(grep -c '^now *cpuwait.throttled' "$out")" = 1 ]
want_match out "^now +cpuwait.throttled  $base_path/hurt"
want_match out "proof +throttled_(time|usec) \+[0-9]+ in $base/hurt/cpu.stat"
want_match out "next +perfbox cpuwait -G $base_path/hurt"
want_match out '^ *[0-9]+ now, [0-9]+ risk, [0-9]+ past; exit 1$'
want_match out '^load '
want_unlike out "$base_path/load"
if [ "$(awk '/^now|^risk|^past/ { n++ } END { print n }' "$out")" = 1 ]; then
	want_match out '^ *1 now, 0 risk, 0 past; exit 1$'
fi

begin "its saved run says the same"
cp "$out" "$work/live"
run "$PERFBOX" triage --root "$work/during"
want_status 1
want_that "same text" cmp "$out" "$work/live"

begin "compare: still there"
triage --save "$work/still" 3
run "$PERFBOX" compare "$work/during" "$work/still"
want_status 1
want_match out "still there +cpuwait.throttled  $base_path/hurt|still.*cpuwait.throttled.*$base_path/hurt"
want_unlike out '^gone'

begin "compare: gone, under the same load"
stop_spin "$hurt_pid"
sleep 0.3
triage --save "$work/after" 3
want_unlike out "$base_path/hurt"
run "$PERFBOX" compare "$work/during" "$work/after"
if [ -z "$alone" ]; then
	skip_test "no network namespace: the host's packets are part of the load"
else
	want_match out "^gone.*cpuwait.throttled.*$base_path/hurt"
	want_unlike out 'untested.*cpuwait.throttled'
fi

begin "compare: new"
run "$PERFBOX" compare "$work/after" "$work/during"
want_status 1
want_match out "^new.*cpuwait.throttled.*$base_path/hurt"

begin "compare: untested when the load went away, too"
stop_spin "$load_pid"
sleep 0.3
triage --save "$work/quiet" 3
run "$PERFBOX" compare "$work/during" "$work/quiet"
rates=$(cat "$work/during"/000000/proc/stat "$work/during"/000001/proc/stat "$work/quiet"/000000/proc/stat "$work/quiet"/000001/proc/stat |
	awk '$1 == "ctxt" { x[++n] = $2 } END { print (x[4] - x[3]) / (x[2] - x[1]) }')
if [ -z "$alone" ] || [ "$(awk -v r="$rates" 'BEGIN { print (r > 0.7) }')" = 1 ]; then
	skip_test "this host has load of its own: $rates of the switches before"
else
	want_match out "untested.*cpuwait.throttled.*$base_path/hurt"
	want_unlike out '^gone'
	want_status 3
fi

begin "--until now waits for a finding, and ends when it is there"
spin hurt -N throttled
run $alone timeout 30 "$PERFBOX" triage --until now 1
want_status 1
want_match out "cpuwait.throttled  $base_path/hurt"

finish
