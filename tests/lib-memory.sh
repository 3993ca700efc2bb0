# Sourced by tests/live/oomcheck-*.sh behind lib.sh: control groups of the test's own in whichever hierarchy has the
# memory controller, and hogs in them. All is gone when the script ends, however it ends.
#
#	set_up_memory          $version (1, 2), $base (folder) and $base_path (as in /proc/PID/cgroup)
#	make_group NAME        a group below $base ("a/b": its parents, too)
#	set_limit NAME MIB     and no swap
#	hog NAME OPTIONS...    a process in that group, see hog.c; $hog_pid, once its first memory is there
#	mine FILE              findings as TSV in FILE: "time id group" of those that name a group of this test
#
# $slack widens tolerances where time itself is slow (emulated machines): LIVE_SLACK.

helpers=$O/tests/live
slack=${LIVE_SLACK:-1}
pids='' groups='' hog_pid=''

[ "$(id -u)" = 0 ] || skip_all "needs root: it makes control groups"
[ -x "$helpers/hog" ] || skip_all "$helpers/hog is not built"

# The mount of the memory controller: "version folder root".
find_mount()
{
	awk '{
		for (i = 7; i <= NF && $i != "-"; i++)
			;
		type = $(i + 1)
		options = "," $NF ","
		if (type == "cgroup" && options ~ /,memory,/) { v1 = $5; root1 = $4 }
		if (type == "cgroup2") { v2 = $5; root2 = $4 }
	} END {
		if (v1) print 1, v1, root1
		else if (v2) print 2, v2, root2
	}' /proc/self/mountinfo
}

set_up_memory()
{
	found=$(find_mount)
	[ -n "$found" ] || skip_all "no memory controller is mounted"
	version=${found%% *}
	mount=$(echo "$found" | cut -d ' ' -f 2)
	root=$(echo "$found" | cut -d ' ' -f 3)
	[ "$root" != / ] || root=
	if [ "$version" = 2 ]; then
		grep -qw memory "$mount/cgroup.controllers" || skip_all "the unified hierarchy has no memory controller"
		if ! grep -qw memory "$mount/cgroup.subtree_control"; then
			echo +memory >"$mount/cgroup.subtree_control" 2>/dev/null ||
				skip_all "the memory controller can't be enabled"
			at_exit "echo -memory >'$mount/cgroup.subtree_control' 2>/dev/null || :"
		fi
	fi
	base=$mount/perfbox-test-$$
	base_path=$root/perfbox-test-$$
	at_exit remove_groups
	mkdir "$base" 2>/dev/null || skip_all "no group can be made in $mount"
	groups=$base
}

remove_groups()
{
	for pid in $pids; do
		kill -9 "$pid" 2>/dev/null
		wait "$pid" 2>/dev/null
	done
	# deepest first; a group is busy for a moment after its last process is gone
	for folder in $(echo "$groups" | tr ' ' '\n' | sort -r); do
		for try in 1 2 3 4 5 6 7 8 9 10; do
			rmdir "$folder" 2>/dev/null || [ ! -d "$folder" ] && break
			sleep 0.1
		done
	done
}

make_group()
{
	made=$base
	for part in $(echo "$1" | tr / ' '); do
		[ "$version" = 1 ] || echo +memory >"$made/cgroup.subtree_control"
		made=$made/$part
		[ -d "$made" ] && continue
		mkdir "$made" || skip_all "$made can't be made"
		groups="$groups $made"
	done
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
