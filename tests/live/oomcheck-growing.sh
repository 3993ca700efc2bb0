# A hog takes 0.8 MiB each second until its limit kills it: that is said at least 30 s before, and of nobody else.
. "$repo/tests/lib.sh"
. "$repo/tests/lib-memory.sh"

begin "steady growth is announced at least 30 s before the kill, with the time left; neighbours are not named"
set_up_memory
make_group hog
make_group full
make_group cache
set_limit hog 64
set_limit full 64
set_limit cache 64
hog full -m 40 -t 110 -N full
hog cache -m 4 -c 20 -w 1 -f "$work/file" -t 110 -N cache
hog hog -m 4 -r 0.8 -t 110 -N grower
timeout 100 "$PERFBOX" oomcheck --tsv --table findings 2 >"$work/findings" 2>"$work/err" &
watcher=$!
pids="$pids $watcher"
waited=0
while kill -0 "$hog_pid" 2>/dev/null && [ $waited -lt 90 ]; do
	sleep 1
	waited=$((waited + 1))
done
killed=$(date -u +%s)
want_that "the hog was killed" [ $waited -lt 90 ]
sleep 4
kill -INT "$watcher"
wait "$watcher"
mine "$work/findings" >"$work/mine"
first=$(awk '$2 == "oomcheck.growing" && $3 == "hog" { print $1; exit }' "$work/mine")
want_that "it was announced" [ -n "$first" ]
announced=$(date -u -d "$(echo "$first" | tr 'TZ' '  ' | cut -d . -f 1)" +%s)
want_that "30 s before (it was $((killed - announced)) s)" [ $((killed - announced)) -ge 30 ]
left=$(awk -F'\t' 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
	$at["id"] == "oomcheck.growing" { print $0; exit }' "$work/findings" | grep -o 'nothing is left in [0-9ms.]*' || :)
want_that "with the time left" [ -n "$left" ]
awk '$3 != "hog"' "$work/mine" >"$work/others"
want_empty "$work/others"
cut -d ' ' -f 2 "$work/mine" | sort -u >"$work/ids"
want_match "$work/ids" '^oomcheck.killed$'

finish
