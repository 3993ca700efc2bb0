# Ctrl-C prints the last, partial interval, and the status is that of what was found. Intervals do not drift.
. "$repo/tests/lib.sh"
. "$repo/tests/lib-cgroup.sh"

[ -x "$helpers/signal" ] || skip_all "$helpers/signal is not built"
begin "SIGINT in the middle of an interval of 100 s: what there was so far, measured as long as it was"
set_up_groups
make_group hurt
set_quota hurt 10000
spin hurt -N throttled
sleep 0.3
run "$helpers/signal" INT 1500 "$PERFBOX" cpuwait --tsv --table host --columns interval_ns --no-header 100
want_lines out 1
interval=$(cut -f 2 "$out")
want_that "interval ($interval ns)" near "$(awk -v x="$interval" 'BEGIN { print x / 1e9 }')" 1.45 0.35
want_status 1

for signal in INT TERM HUP; do
	begin "SIG$signal: the findings' status"
	run "$helpers/signal" $signal 1200 "$PERFBOX" cpuwait -q -G "$base_path/hurt" 100
	want_status 1
	want_match out "cpuwait.throttled  $base_path/hurt"
done

begin "nothing found: 0"
run "$helpers/signal" INT 700 "$PERFBOX" cpuwait -q -p $$ 100
want_status 0

begin "between reports of an endless run: those before it, and the partial one"
run "$helpers/signal" INT 1250 "$PERFBOX" cpuwait --tsv --table host --columns interval_ns --no-header 0.5
want_that "3 reports ($(wc -l <"$out"))" between 2 "$(wc -l <"$out")" 3
want_that "the last one is shorter" awk -F'\t' '{ x = $2 } END { exit x > 0.45e9 }' "$out"

begin "a saved run that was interrupted is whole"
run "$helpers/signal" INT 1200 "$PERFBOX" cpuwait --json -p $$ -a --save "$work/saved" 0.5
cp "$out" "$work/live"
run "$PERFBOX" cpuwait --json -p $$ -a --root "$work/saved"
want_that "same bytes" cmp "$out" "$work/live"

begin "20 intervals of 0.1 s take 2 s, each measured as long as it was"
in_time "$PERFBOX" cpuwait --tsv --table host --columns interval_ns --no-header -p $$ 0.1 20
want_lines out 20
want_that "2 s by the kernel's clock" near "$(awk -F'\t' '{ s += $2 } END { print s / 1e9 }' "$out")" 2.0 0.1
want_that "no interval is made up: they differ" [ "$(cut -f 2 "$out" | sort -u | wc -l)" -gt 5 ]
want_that "their times are a grid: first to last 1.9 s" near "$(awk -F'\t' '{
	split($1, t, /[T:Z]/)
	x = t[2] * 3600 + t[3] * 60 + t[4]
	if (NR == 1) first = x
} END { print x < first ? x + 86400 - first : x - first }' "$out")" 1.9 0.1

finish
