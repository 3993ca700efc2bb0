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
spin load -N ticker -n 8 -d 5 -p 1
load_pid=$spin_pid

# How many times the context switches per second of the first run the second had, from their saved frames.
switches()
{
	for run in "$1" "$2"; do
		for frame in 000000 000001; do
			awk '$1 == "clock" { printf "%s ", $3 }' "$run/$frame/manifest"
			awk '$1 == "ctxt" { print $2 }' "$run/$frame/proc/stat"
		done
	done | awk '{ t[NR] = $1; n[NR] = $2 } END { printf "%.2f\n", ((n[4] - n[3]) / (t[4] - t[3])) / ((n[2] - n[1]) / (t[2] - t[1])) }'
}

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
want_that "once" [ "$(grep -c "^now *cpuwait.throttled  $base_path/" "$out")" = 1 ]
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
want_unlike out "^gone.*$base_path/"

begin "compare: gone, under the same load"
stop_spin "$hurt_pid"
sleep 0.3
triage --save "$work/after" 3
want_unlike out "$base_path/hurt"
run "$PERFBOX" compare "$work/during" "$work/after"
rate=$(switches "$work/during" "$work/after")
if [ -z "$alone" ]; then
	skip_test "no network namespace: the host's packets are part of the load"
elif [ "$(awk -v r="$rate" 'BEGIN { print (r < 0.85) }')" = 1 ]; then
	skip_test "what else runs here went down: $rate of the switches before"
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
rate=$(switches "$work/during" "$work/quiet")
if [ -z "$alone" ] || [ "$(awk -v r="$rate" 'BEGIN { print (r > 0.75) }')" = 1 ]; then
	skip_test "this host has load of its own: $rate of the switches before"
else
	want_match out "untested.*cpuwait.throttled.*$base_path/hurt"
	want_unlike out "^gone.*$base_path/"
	if grep -q '^still\|^new' "$out"; then
		want_status 1
	else
		want_status 3
	fi
fi

begin "--until now waits for a finding and ends when it is there; of the run the frames around it are kept"
# whatever else is wrong on this machine would end it before
run $alone "$PERFBOX" triage 4
if [ "$status" = 1 ]; then
	skip_test "something else is found here: $(grep -m1 '^now' "$out")"
else
	sh -c 'sleep 5; exec "$@"' sh "$helpers/spin" -t 60 -g "$base/hurt" -N throttled >/dev/null &
	pids="$pids $!"
	run $alone timeout 60 "$PERFBOX" triage --until now --save "$work/until" 0.7
	want_status 1
	want_match out "cpuwait.throttled  $base_path/hurt"
	want_that "one report" [ "$(grep -c 'exit 1$' "$out")" = 1 ]
	want_that "the first frame and a few: $(ls "$work/until" | tr '\n' ' ')" [ "$(ls -d "$work/until"/0* | wc -l)" -le 5 ]
	want_that "the first one" [ -d "$work/until/000000" ]
	want_that "there were more" [ ! -d "$work/until/000001" ]
	run "$PERFBOX" triage --root "$work/until"
	want_match out "cpuwait.throttled  $base_path/hurt"
fi

finish
