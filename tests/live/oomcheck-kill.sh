# Real kills: at a group's own limit, at an ancestor's, of a whole group. Each is found once, with who it was and why; a
# neighbour that stays below its own limit is not named.
. "$repo/tests/lib.sh"
. "$repo/tests/lib-memory.sh"

# doomed NAME MIB COMM: takes more than its limit; its pid in $doomed_pid.
doomed()
{
	"$helpers/hog" -g "$base/$1" -m "$2" -N "$3" >/dev/null 2>&1 &
	doomed_pid=$!
	pids="$pids $doomed_pid"
}

died()
{
	wait "$1" 2>/dev/null
	[ $? -eq 137 ]
}

# Starts oomcheck, and returns behind its baseline: what follows is in the interval.
watch()
{
	"$PERFBOX" oomcheck --tsv --table findings --save "$work/$1.run" $((4 * slack)) 1 >"$work/$1" 2>"$work/$1.err" &
	watch_pid=$!
	tries=0
	while [ ! -d "$work/$1.run/000000" ] && [ $tries -lt 100 ]; do
		tries=$((tries + 1))
		sleep 0.1
	done
	sleep 0.5
}

watched()
{
	wait $watch_pid
	status=$?
	cp "$work/$1" "$out"
	cp "$work/$1.err" "$err"
	ran="oomcheck while $1"
}

# The finding of this subject, and a field of its evidence.
finding()
{
	awk -F'\t' -v subject="$base_path/$1" 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
		NR > 1 && $at["subject"] == subject' "$out" >"$work/finding"
	want_lines "$work/finding" "$2"
}

evidence()
{
	tr '\t;' '\n\n' <"$work/finding" | sed -n "s/^$1=//p" | sed 1q
}

begin "a kill at the group's own limit: who, where, and that it was its own"
set_up_memory
make_group own
make_group above/below
make_group calm
set_limit own 32
set_limit above 48
set_limit calm 64
hog calm -m 8 -N calm
[ -r /dev/kmsg ] || skip_all "/dev/kmsg can't be read"
watch one
doomed own 64 'own) victim;'
own_pid=$doomed_pid
want_that "it was killed" died "$own_pid"
doomed above/below 96 below
below_pid=$doomed_pid
want_that "it was killed" died "$below_pid"
watched one
want_status 1
mine "$out" | cut -d ' ' -f 2- | sort >"$work/mine"
printf 'oomcheck.killed above/below\noomcheck.killed own\n' >"$work/wanted"
want_that "these findings and no others" diff "$work/wanted" "$work/mine"
finding own 1
want_match "$work/finding" '	now	'
want_that "its pid" [ "$(evidence pid)" = "$own_pid" ]
want_match "$work/finding" 'comm=own\) victim\\x3b;uid=0;cause=own limit;'
want_that "the limit is its own" [ "$(evidence limited_by)" = "$base_path/own" ]
want_that "32 MiB" [ "$(evidence limit_bytes)" = $((32 << 20)) ]
want_that "used up" [ "$(evidence usage_bytes)" -ge $((31 << 20)) ]
want_that "by its anonymous memory" [ "$(evidence anon_bytes)" -ge $((28 << 20)) ]
want_match "$work/finding" "killed own\) victim;/$own_pid at .*: the cgroup reached its own limit of 32M; (9[0-9]|100) % anonymous"
want_match "$work/finding" '/dev/kmsg sequence [0-9]+'

begin "an ancestor's limit is told from its own"
finding above/below 1
want_that "its pid" [ "$(evidence pid)" = "$below_pid" ]
want_that "cause" [ "$(evidence cause)" = "ancestor's limit" ]
want_that "whose" [ "$(evidence limited_by)" = "$base_path/above" ]
want_match "$work/finding" "an ancestor's limit \($base_path/above at 48M\)"

begin "the next look has them as past, once each; the saved run says the same again"
run "$PERFBOX" oomcheck --tsv --table findings 1 1
for group in own above/below; do
	finding $group 1
	want_match "$work/finding" '	past	'
done
"$PERFBOX" oomcheck --root "$work/one.run" --tsv --table findings >"$work/again" 2>/dev/null
want_that "same bytes" cmp "$work/one" "$work/again"

begin "the log alone says it, too, as dmesg hands it on"
if command -v dmesg >/dev/null && dmesg -T >"$work/dmesg" 2>/dev/null && [ -s "$work/dmesg" ]; then
	run "$PERFBOX" oomcheck --log "$work/dmesg" --tsv --columns pid,cgroup,cause,limited_by
	want_match out "	$own_pid	$base_path/own	own limit	$base_path/own\$"
	want_match out "	$below_pid	$base_path/above/below	ancestor's limit	$base_path/above\$"
	want_unlike out "	$base_path/calm	"
else
	skip_test "no dmesg -T here"
fi

begin "memory.oom.group: both processes of the group, each once"
if [ "$version" = 1 ]; then
	skip_test "the memory controller is v1's here, which has no memory.oom.group"
elif make_group whole && [ ! -e "$base/whole/memory.oom.group" ]; then
	skip_test "no memory.oom.group in this kernel"
else
	set_limit whole 32
	echo 1 >"$base/whole/memory.oom.group"
	hog whole -m 4 -N second
	second_pid=$hog_pid
	watch two
	doomed whole 64 first
	want_that "the first was killed" died "$doomed_pid"
	want_that "and the second" died "$second_pid"
	watched two
	finding whole 2
	want_match "$work/finding" "pid=$doomed_pid;comm=first;"
	want_match "$work/finding" "pid=$second_pid;comm=second;"
	want_match "$work/finding" 'memory.oom.group'
fi

finish
