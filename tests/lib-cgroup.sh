# Sourced by tests/live/*.sh behind lib.sh: control groups of the test's own, in whichever hierarchy has the cpu
# controller, and spinning threads in them. All is gone when the script ends, however it ends.
#
#	set_up_groups [fair]   $version (1, 2), $base (folder) and $base_path (as in /proc/PID/cgroup); all in it have
#	                       precedence over what else runs here, unless fair
#	make_group NAME        a group below $base ("a/b": its parents, too)
#	set_quota NAME USEC [PERIOD_USEC]
#	spin NAME OPTIONS...   threads in that group; their ids in $spin_tids, the process in $spin_pid
#	stop_spin PID
#	measure OPTIONS...     cpuwait, saved; then the functions below ask that run
#	ask TABLE COLUMNS      its rows, without time
#	percent A B            100 * A / B, whole
#	between LOW X HIGH     also for fractions
#
# The kernel adds to a group's throttled time when a period ends, 90 ms at once for a quota of 10 ms in 100, and each
# file is read at a moment of its own: over 4 s two such numbers may be 5 % of the interval apart.
#
# $slack widens tolerances where time itself is slow (emulated machines): LIVE_SLACK.

. "$repo/tests/lib-groups.sh"
spin_pid='' spin_tids='' runs=0
cpus=$(nproc)

[ -x "$helpers/spin" ] || skip_all "$helpers/spin is not built"

set_up_groups()
{
	set_up_hierarchy cpu
	# what else runs here must not take from the spinners what the test says they get
	if [ "$version" = 1 ]; then
		[ "${1:-}" = fair ] || echo 262144 >"$base/cpu.shares"
		[ -e "$base/cpu.cfs_quota_us" ] || skip_all "kernel without CFS bandwidth control"
	else
		echo +cpu >"$base/cgroup.subtree_control"
		[ "${1:-}" = fair ] || echo 10000 >"$base/cpu.weight"
		[ -e "$base/cpu.max" ] || skip_all "kernel without CFS bandwidth control"
	fi
}

set_quota()
{
	if [ "$version" = 1 ]; then
		echo "${3:-100000}" >"$base/$1/cpu.cfs_period_us"
		echo "$2" >"$base/$1/cpu.cfs_quota_us"
	else
		echo "$2 ${3:-100000}" >"$base/$1/cpu.max"
	fi
}

spin()
{
	into=$base/$1
	shift
	: >"$work/tids"
	"$helpers/spin" -t 60 -g "$into" "$@" >"$work/tids" 2>"$work/spin.err" &
	spin_pid=$!
	pids="$pids $spin_pid"
	for try in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
		[ ! -s "$work/tids" ] || break
		sleep 0.1
	done
	spin_tids=$(tr '\n' ' ' <"$work/tids")
	[ -n "$spin_tids" ] || add_why "no spinner came up: $(cat "$work/spin.err")"
}

stop_spin()
{
	kill "$1" 2>/dev/null
	wait "$1" 2>/dev/null
}

# A number of cpu.stat, in ns for times, of a folder (or of the same in a saved frame).
stat_of()
{
	case $2 in
	throttled_ns) awk '$1 == "throttled_time" { print $2 } $1 == "throttled_usec" { printf "%.0f\n", $2 * 1000 }' "$1/cpu.stat" ;;
	*) awk -v key="$2" '$1 == key { print $2 }' "$1/cpu.stat" ;;
	esac 2>/dev/null
}

# A command in a group of the test's own: what else runs here must not delay it between its clock and what it reads.
in_time()
{
	make_group self
	run sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$base/self" "$@"
}

measure()
{
	runs=$((runs + 1))
	saved=$work/run$runs
	in_time "$PERFBOX" cpuwait --save "$saved" "$@"
	live_status=$status
	selection=
	interval_ns=$(ask host interval_ns)
}

# $selection: options that the replay needs, too.
ask()
{
	"$PERFBOX" cpuwait --root "$saved" $selection --tsv --no-header --table "$1" --columns "$2" 2>/dev/null | cut -f 2-
}

# Of the saved frames themselves, not through the program: how far a number of a group's cpu.stat moved. The
# group's name is one of make_group's, or a path from the mount on ("/other").
moved()
{
	case $1 in
	/*) folder=${mount#/}$1 ;;
	*) folder=${mount#/}/perfbox-test-$$/$1 ;;
	esac
	echo "$(stat_of "$saved/000000/$folder" "$2")" "$(stat_of "$saved/000001/$folder" "$2")" | awk '{ printf "%.0f\n", $2 - $1 }'
}

# Idle and iowait share of a CPU ("cpu": all, "cpu1") between the saved frames, in percent.
idle_percent()
{
	cat "$saved/000000/proc/stat" "$saved/000001/proc/stat" | awk -v cpu="$1" '$1 == cpu {
		total = 0
		for (i = 2; i <= 9; i++) total += $i
		idle[++n] = $5 + $6
		all[n] = total
	} END { printf "%d\n", (all[2] > all[1]) ? 100 * (idle[2] - idle[1]) / (all[2] - all[1]) : 0 }'
}

percent()
{
	awk -v a="$1" -v b="$2" 'BEGIN { printf "%d\n", (b > 0) ? 100 * a / b + 0.5 : -1 }'
}

between()
{
	awk -v low="$1" -v x="$2" -v high="$3" 'BEGIN { if (x == "" || x + 0 < low + 0 || x + 0 > high + 0) { print x " is not in " low " .. " high; exit 1 } }'
}

# As between, around a value: OFF is widened by $slack.
near()
{
	awk -v x="$1" -v value="$2" -v off="$3" -v slack="$slack" 'BEGIN {
		off *= slack
		if (x == "" || value == "" || x < value - off || x > value + off) { print "\"" x "\" is not " value " +- " off; exit 1 }
	}'
}

# Whether nothing was found but what is named: lines "id subject". What else runs on this machine is not ours to answer
# for: cpu-saturated may stand beside it where the saved frames say less than 10 % idle, and a group that is none of
# ours where they say that it was throttled in half of its periods.
only_findings()
{
	"$PERFBOX" cpuwait --root "$saved" $selection --tsv --no-header --table findings 2>/dev/null |
		awk -F'\t' '{ print $2 " " $5 }' | sort | while read -r id subject; do
		case $id,$subject in
		cpuwait.cpu-saturated,host) [ "$(idle_percent cpu)" -ge 10 ] || continue ;;
		cpuwait.throttled,$base_path*) ;;
		cpuwait.throttled,/*)
			[ $((2 * $(moved "${subject#"$root"}" nr_throttled))) -lt "$(moved "${subject#"$root"}" nr_periods)" ] || continue
			;;
		esac
		echo "$id $subject"
	done >"$work/findings"
	printf '%s' "${1:+$1
}" | sort >"$work/wanted"
	diff "$work/wanted" "$work/findings"
}
