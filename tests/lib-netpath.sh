# Sourced by live tests of netpath, after lib.sh: two namespaces joined by a veth, something lost between them while
# netpath looks, and what it found.

helpers=$O/tests/live
[ "$(id -u)" = 0 ] || skip_all "needs root"
command -v ip >/dev/null || skip_all "no ip (iproute2)"
server=pbt-np-s-$$ client=pbt-np-c-$$
in_server="ip netns exec $server"
in_client="ip netns exec $client"
ip netns add "$server" 2>/dev/null || skip_all "no network namespaces"
ip netns del "$server"
at_exit "leave_path"
path_pids=''

leave_path()
{
	for pid in $path_pids; do
		kill "$pid" 2>/dev/null
		wait "$pid" 2>/dev/null
	done
	path_pids=''
	for ns in "$server" "$client"; do
		[ ! -e "/run/netns/$ns" ] || ip netns del "$ns"
	done
}

# server v0 10.77.0.1 ---- 10.77.0.2 v1 client, nothing counted yet
fresh_path()
{
	leave_path
	ip netns add "$server"
	ip netns add "$client"
	ip link add v0 netns "$server" type veth peer name v1 netns "$client"
	for ns in "$server" "$client"; do
		ip netns exec "$ns" sh -c 'for f in /proc/sys/net/ipv6/conf/*/disable_ipv6; do echo 1 >$f; done' 2>/dev/null
		ip -n "$ns" link set lo up
	done
	ip -n "$server" addr add 10.77.0.1/24 dev v0
	ip -n "$client" addr add 10.77.0.2/24 dev v1
	ip -n "$server" link set v0 up
	ip -n "$client" link set v1 up
	mac0=$(ip -n "$server" link show v0 | awk '/link\/ether/ { print $2 }')
	mac1=$(ip -n "$client" link show v1 | awk '/link\/ether/ { print $2 }')
	ip -n "$client" neigh add 10.77.0.1 lladdr "$mac0" dev v1
	ip -n "$server" neigh add 10.77.0.2 lladdr "$mac1" dev v0
}

# in_back COMMAND...: until the path is made anew; waits for its "ready"
in_back()
{
	: >"$work/back"
	"$@" >>"$work/back" 2>&1 &
	path_pids="$path_pids $!"
	for i in $(seq 50); do
		grep -q '^ready' "$work/back" && return 0
		sleep 0.1
	done
	add_why "not ready: $*"
}

# lose "WHAT HAPPENS" OPTIONS...: in the middle of a look by netpath; $work/findings has what it found there. A CPU's
# load is the neighbours' as well.
lose()
{
	happens=$1
	shift
	(sleep 1; eval "$happens") >"$work/happened" 2>&1 &
	happening=$!
	run timeout 120 "$PERFBOX" netpath --json "$@" "${LOOK_SECONDS:-3}" 1
	wait $happening
	grep '"table":"findings"' "$out" |
		grep -E "\"netns\":(\"pbt-np-[sc]-$$\"|null)" |
		grep -v '"id":"netpath.softirq-load"' >"$work/findings"
	grep '"table":"path"' "$out" >"$work/rows"
}

# "netpath.qdisc v1 tbf 8001:;"
found()
{
	sed -n 's/.*"id":"\([^"]*\)","state":"now".*"subject":"\([^"]*\)".*/\1 \2/p' "$work/findings" | sort | tr '\n' ';'
}
netns_of() { grep "\"id\":\"$1\"" "$work/findings" | sed -n 's/.*"netns":"\([^"]*\)".*/\1/p'; }
evidence() { grep "\"id\":\"$1\"" "$work/findings" | sed -n "s/.*[{,]\"$2\":\([0-9.]*\)[,}].*/\1/p"; }
text_of() { grep "\"id\":\"$1\"" "$work/findings"; }
# within 5 %
near() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a != "" && b != "" && b > 0 && a >= b * .95 && a <= b * 1.05) }'; }

link_count() { ip netns exec "$1" cat "/sys/class/net/$2/statistics/$3" 2>/dev/null || ip -n "$1" -s -j link show "$2" | sed -n "s/.*\"$3\":\([0-9]*\).*/\1/p"; }
qdisc_drops() { ip netns exec "$1" tc -s qdisc show dev "$2" | sed -n 's/.*dropped \([0-9]*\),.*/\1/p' | sort -n | tail -1; }
