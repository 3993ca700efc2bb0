# Sourced by tests/live/oomcheck-*.sh behind lib.sh: control groups of the test's own in whichever hierarchy has the
# memory controller, and hogs in them. All is gone when the script ends, however it ends.
#
#	set_up_memory          $version (1, 2), $base (folder) and $base_path (as in /proc/PID/cgroup)
#	make_group NAME        a group below $base ("a/b": its parents, too)
#	set_limit NAME MIB     and no swap
#	hog NAME OPTIONS...    a process in that group, see hog.c; $hog_pid, once its first memory is there
#	mine FILE              findings as TSV in FILE: "time id group" of those that name a group of this test

. "$repo/tests/lib-groups.sh"
hog_pid=''
[ -x "$helpers/hog" ] || skip_all "$helpers/hog is not built"

set_up_memory()
{
	set_up_hierarchy memory
}

set_limit()
{
	bytes=$(($2 * 1048576))
	if [ "$version" = 1 ]; then
		echo "$bytes" >"$base/$1/memory.limit_in_bytes"
		# with equal limits Linux 6.18 counts a failure at neither, so not where nothing can be swapped
		! grep -q '^SwapTotal: *[1-9]' /proc/meminfo || [ ! -e "$base/$1/memory.memsw.limit_in_bytes" ] ||
			echo "$bytes" >"$base/$1/memory.memsw.limit_in_bytes"
	else
		echo "$bytes" >"$base/$1/memory.max"
		[ ! -e "$base/$1/memory.swap.max" ] || echo 0 >"$base/$1/memory.swap.max"
	fi
}

hog()
{
	into=$base/$1
	shift
	: >"$work/ready"
	"$helpers/hog" -g "$into" "$@" >"$work/ready" 2>"$work/hog.err" &
	hog_pid=$!
	pids="$pids $hog_pid"
	tries=0
	while [ ! -s "$work/ready" ] && [ $tries -lt $((100 * slack)) ] && kill -0 "$hog_pid" 2>/dev/null; do
		tries=$((tries + 1))
		sleep 0.1
	done
	[ -s "$work/ready" ] || add_why "no hog came up: $(cat "$work/hog.err")"
}

# TSV of the findings table in a file: "time id subject" of those that name a group of this test.
mine()
{
	awk -F'\t' -v base="$base_path" 'NR == 1 {
		for (i = 1; i <= NF; i++)
			at[$i] = i
		next
	} index($at["subject"], base) == 1 { print $at["time"], $at["id"], substr($at["subject"], length(base) + 2) }' "$1"
}
