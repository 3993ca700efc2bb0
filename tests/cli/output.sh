# Formats and choices of output, and what happens when it can't be written.
. "$repo/tests/lib.sh"

tree=$trees/v2-nested-local

if [ -w /dev/full ]; then
	for format in '' --json --tsv --openmetrics; do
		begin "a full disk, ${format:-for people}: status 3 and one line that says so"
		run sh -c '"$@" >/dev/full' sh "$PERFBOX" cpuwait --root "$tree" -q $format
		want_status 3
		want_lines err 1
		want_match err 'space'
	done
	for option in --list --help --version '--man cpuwait' '--completion bash' 'cpuwait --help'; do
		begin "a full disk, $option"
		run sh -c '"$@" >/dev/full' sh env PAGER= "$PERFBOX" $option
		want_status 3
		want_lines err 1
		want_match err 'space'
	done
else
	begin "a full disk"
	skip_test "no /dev/full"
fi

begin "a closed pipe ends it quietly and at once"
start=$(date +%s)
run sh -c '"$@" 2>"$0" | head -n 1' "$work/pipe" "$PERFBOX" cpuwait 0.1 100
want_status 0
want_lines out 1
want_empty "$work/pipe"
want_that "in less than 5 s of 10" [ $(($(date +%s) - start)) -lt 5 ]
for option in --help --list '--man cpuwait' '--completion zsh' 'cpuwait --root '"$trees/kubepods-healthy"' --json'; do
	run sh -c '{ "$@"; echo $? >"$0.status"; } 2>"$0" | :' "$work/pipe" env PAGER= "$PERFBOX" $option
	want_empty "$work/pipe"
	want_that "$option ended by itself" test -s "$work/pipe.status"
done

begin "a standard stream that is closed does no harm"
run sh -c '"$@" >&-' sh "$PERFBOX" cpuwait --root "$tree"
want_status 3
run sh -c '"$@" 2>&-' sh "$PERFBOX" cpuwait --root "$tree"
want_status 1
run sh -c '"$@" <&- >&- 2>&-' sh "$PERFBOX" cpuwait --root "$tree" --save "$work/closed"
want_that "it ended by itself: $status" [ "$status" -le 3 ]

begin "JSON: every line an object; table first, then time; ids are strings, numbers numbers"
if command -v python3 >/dev/null; then
	for name in v2-nested-local hybrid hostile-names kubepods-throttled vanish schedstat-absent; do
		run "$PERFBOX" cpuwait --root "$trees/$name" --json
		want_that "$name" python3 -B "$tests/helper/jsonlines.py" "$out"
	done
	run "$PERFBOX" cpuwait --json 0.2 3
	want_that "live" python3 -B "$tests/helper/jsonlines.py" "$out"
	run "$PERFBOX" triage --json 0.5
	want_that "triage, live" python3 -B "$tests/helper/jsonlines.py" "$out"
else
	skip_test "no python3"
fi

begin "TSV: as many fields in every line as the header names"
for table in threads cgroups host findings; do
	for name in v2-nested-local hybrid hostile-names schedstat-absent kubepods-throttled; do
		run "$PERFBOX" cpuwait --root "$trees/$name" --tsv --table $table
		want_that "$table of $name" awk -F'\t' 'NR == 1 { n = NF; if ($1 != "time") exit 1 } NF != n { print NR ": " NF; exit bad = 1 } END { exit bad || !NR }' "$out"
	done
done

begin "TSV: one header for several reports, the time in every row"
run "$PERFBOX" cpuwait --root "$trees/vanish" --tsv --columns tid,comm
want_status 0
want_that "one header" [ "$(grep -c '^time' "$out")" = 1 ]
want_match out '^2026-01-02T00:00:01\.000Z	4000	gone$'
want_match out '^2026-01-02T00:00:02\.000Z	4001	new$'

begin "OpenMetrics: accepted by a strict reader"
if command -v python3 >/dev/null; then
	for name in v2-nested-local hybrid hostile-names kubepods-throttled schedstat-absent psi-off; do
		run "$PERFBOX" cpuwait --root "$trees/$name" --openmetrics
		want_that "$name" python3 -B "$tests/helper/openmetrics.py" "$out"
	done
	run "$PERFBOX" cpuwait --openmetrics 0.2
	want_that "live" python3 -B "$tests/helper/openmetrics.py" "$out"
	want_that "the reader takes no nonsense" python3 -B "$tests/helper/openmetrics.py" --self-test
else
	skip_test "no python3"
fi

begin "--columns: these, in this order, in every format"
run "$PERFBOX" cpuwait --root "$tree" -q --table threads --columns comm,tid
want_that "header" [ "$(head -n 1 "$out" | tr -s ' ')" = "COMM TID" ]
run "$PERFBOX" cpuwait --root "$tree" --tsv --columns comm,tid
want_that "header" [ "$(head -n 1 "$out")" = "$(printf 'time\tcomm\ttid')" ]
run "$PERFBOX" cpuwait --root "$tree" --json --table threads --columns comm,tid
want_match out '^\{"table":"threads","time":"[^"]*","comm":"batch","tid":"2000"\}$'

begin "--sort: up, and down with -; --top cuts behind it"
run "$PERFBOX" cpuwait --root "$trees/kubepods-throttled" --tsv --columns run_ns --sort run_ns --no-header
want_that "ascending" sh -c "cut -f 2 '$out' | sort -n -c"
run "$PERFBOX" cpuwait --root "$trees/kubepods-throttled" --tsv --columns run_ns --sort -run_ns --no-header
want_that "descending" sh -c "cut -f 2 '$out' | sort -rn -c"
run "$PERFBOX" cpuwait --root "$trees/kubepods-throttled" --tsv --columns run_ns --sort -run_ns --no-header --top 7
want_lines out 7
run "$PERFBOX" cpuwait --root "$trees/kubepods-throttled" --tsv --no-header
want_lines out 612
run "$PERFBOX" cpuwait --root "$trees/kubepods-throttled" -q --table threads
want_that "20 for people, and how many more there are" [ "$(grep -c ' ' "$out")" = 22 ]
want_match out '592 more'
run "$PERFBOX" cpuwait --root "$trees/kubepods-throttled" -q --table threads --top 0 --no-header
want_lines out 612
run "$PERFBOX" cpuwait --root "$trees/kubepods-throttled" --tsv --columns comm --sort voluntary_per_second --no-header
want_that "rows sorted by what is only read for shown rows are all complete" [ "$(wc -l <"$out")" = 612 ]

begin "--no-header"
run "$PERFBOX" cpuwait --root "$tree" --tsv --no-header
want_unlike out '^time'
want_lines out 2

begin "-q: no host line, no remarks"
run "$PERFBOX" cpuwait --root "$trees/psi-off" -q
want_status 0
want_empty err
want_unlike out '^cpuwait'

begin "--state and --exit-zero: what counts for the status"
run "$PERFBOX" cpuwait --root "$tree" --state risk
want_status 0
want_match out 'cpuwait.throttled'
run "$PERFBOX" cpuwait --root "$tree" --state past,now
want_status 1
run "$PERFBOX" cpuwait --root "$tree" --exit-zero
want_status 0
run "$PERFBOX" cpuwait --root "$trees/garbled-proc-stat" --exit-zero
want_status 3

begin "no colour but on a terminal; no escape sequence in any format"
for name in v2-nested-local hostile-names; do
	for format in '' --json --tsv --openmetrics; do
		run env TERM=xterm "$PERFBOX" cpuwait --root "$trees/$name" $format
		want_unlike out "$(printf '\033')"
	done
done
if command -v script >/dev/null && command -v python3 >/dev/null; then
	run env TERM=xterm PERFBOX="$PERFBOX" script -qec "$PERFBOX cpuwait --root $tree" /dev/null
	want_match out "$(printf '\033')"
	run env TERM=xterm NO_COLOR=1 script -qec "$PERFBOX cpuwait --root $tree" /dev/null
	want_unlike out "$(printf '\033')"
	run env TERM=dumb script -qec "$PERFBOX cpuwait --root $tree" /dev/null
	want_unlike out "$(printf '\033')"
fi

finish
