# Sourced by lib-cgroup.sh and lib-memory.sh: control groups of the test's own in whichever hierarchy has a controller.
# All is gone when the script ends, however it ends.
#
#	set_up_hierarchy CONTROLLER    $version (1, 2), $base (folder) and $base_path (as in /proc/PID/cgroup)
#	make_group NAME                a group below $base ("a/b": its parents, too)
#
# Processes in $pids are ended first. $slack widens tolerances where time itself is slow (emulated machines): LIVE_SLACK.

helpers=$O/tests/live
slack=${LIVE_SLACK:-1}
pids='' groups=''

[ "$(id -u)" = 0 ] || skip_all "needs root: it makes control groups"

# The mount of the controller $1: "version folder root".
find_mount()
{
	awk -v controller=",$1," '{
		for (i = 7; i <= NF && $i != "-"; i++)
			;
		type = $(i + 1)
		options = "," $NF ","
		if (type == "cgroup" && index(options, controller)) { v1 = $5; root1 = $4 }
		if (type == "cgroup2") { v2 = $5; root2 = $4 }
	} END {
		if (v1) print 1, v1, root1
		else if (v2) print 2, v2, root2
	}' /proc/self/mountinfo
}

set_up_hierarchy()
{
	controller=$1
	found=$(find_mount "$controller")
	[ -n "$found" ] || skip_all "no $controller controller is mounted"
	version=${found%% *}
	mount=$(echo "$found" | cut -d ' ' -f 2)
	root=$(echo "$found" | cut -d ' ' -f 3)
	[ "$root" != / ] || root=
	if [ "$version" = 2 ]; then
		grep -qw "$controller" "$mount/cgroup.controllers" || skip_all "the unified hierarchy has no $controller controller"
		if ! grep -qw "$controller" "$mount/cgroup.subtree_control"; then
			echo "+$controller" >"$mount/cgroup.subtree_control" 2>/dev/null ||
				skip_all "the $controller controller can't be enabled"
			at_exit "echo -$controller >'$mount/cgroup.subtree_control' 2>/dev/null || :"
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
	# deepest first; a group is busy for a moment after its last thread is gone
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
		[ "$version" = 1 ] || echo "+$controller" >"$made/cgroup.subtree_control"
		made=$made/$part
		[ -d "$made" ] && continue
		mkdir "$made" || skip_all "$made can't be made"
		groups="$groups $made"
	done
}
