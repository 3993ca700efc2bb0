# Losses below IP made for real, each alone, and netpath names that layer, once, with the number that the kernel's own
# counters have; what is innocent is not named, whichever end is asked.
. "$repo/tests/lib.sh"
. "$repo/tests/lib-netpath.sh"
command -v tc >/dev/null || skip_all "no tc (iproute2)"
send="$in_client $helpers/flood send 10.77.0.1 5000"

dev_dropped() { $in_client sh -c "ip -s -s link show dev $1" | awk -v d="$2" '$1 == d":" { getline; print $4; exit }'; }
server_dropped() { $in_server sh -c "ip -s -s link show dev $1" | awk -v d="$2" '$1 == d":" { getline; print $4; exit }'; }

begin "a healthy path with thousands of packets each way: nothing is found"
fresh_path
in_back $in_server "$helpers/packets" drain 10.77.0.1 5000
in_back $in_server "$helpers/tcp" listen 10.77.0.1 8080 -b 128 -w 4 -h 0
lose "$send 6000 -s 1000 -r 6000; $in_client $helpers/tcp connect 10.77.0.1 8080 -n 200 -r 400 -s 2000 -t 2" -N "$client"
want_that "nothing: $(found)" [ -z "$(found)" ]
want_that "they were seen" grep -q '"layer":"link","direction":"tx","subject":"v1"' "$work/rows"
sent=$(grep '"layer":"link","direction":"tx","subject":"v1"' "$work/rows" | sed 's/.*"packets_out":\([0-9]*\).*/\1/')
want_that "6,000 datagrams and 200 connections: $sent packets out" [ "$sent" -ge 6500 ]
want_that "the other end was followed" grep -q "\"netns\":\"$server\",\"layer\":\"link\"" "$work/rows"
lose "$send 3000 -s 1000 -r 6000" -N "$server"
want_that "nothing: $(found)" [ -z "$(found)" ]

begin "a tbf whose queue is short"
fresh_path
in_back $in_server "$helpers/packets" drain 10.77.0.1 5000
$in_client tc qdisc add dev v1 root handle 7: tbf rate 1mbit burst 5000 limit 20000
lose "$send 3000 -s 1000" -N "$client"
want_that "found: $(found)" [ "$(found)" = "netpath.qdisc v1 tbf 7:;" ]
want_that "where: $(netns_of netpath.qdisc)" [ "$(netns_of netpath.qdisc)" = "$client" ]
drops=$(qdisc_drops "$client" v1)
want_that "lost: $(evidence netpath.qdisc drops) of $drops" near "$(evidence netpath.qdisc drops)" "$drops"
want_that "it lost most" [ "$drops" -gt 2500 ]
lose "$send 3000 -s 1000" -N "$server"
want_that "seen from the other end: $(found)" [ "$(found)" = "netpath.qdisc v1 tbf 7:;" ]

begin "a leaf below an htb class: its parents are not named"
fresh_path
in_back $in_server "$helpers/packets" drain 10.77.0.1 5000
$in_client tc qdisc add dev v1 root handle 1: htb default 10
$in_client tc class add dev v1 parent 1: classid 1:10 htb rate 1mbit burst 5k
$in_client tc qdisc add dev v1 parent 1:10 handle 10: pfifo limit 10
lose "$send 3000 -s 1000" -N "$client"
want_that "found: $(found)" [ "$(found)" = "netpath.qdisc v1 pfifo 10:;" ]
drops=$(qdisc_drops "$client" v1)
want_that "lost: $(evidence netpath.qdisc drops) of $drops" near "$(evidence netpath.qdisc drops)" "$drops"

begin "an htb class whose queue the kernel does not list"
fresh_path
in_back $in_server "$helpers/packets" drain 10.77.0.1 5000
ip -n "$client" link set v1 txqueuelen 10
$in_client tc qdisc add dev v1 root handle 1: htb default 10
$in_client tc class add dev v1 parent 1: classid 1:10 htb rate 1mbit burst 5k
lose "$send 3000 -s 1000" -N "$client"
want_that "found: $(found)" [ "$(found)" = "netpath.qdisc v1 htb class 1:10;" ]
drops=$(qdisc_drops "$client" v1)
want_that "lost: $(evidence netpath.qdisc drops) of $drops" near "$(evidence netpath.qdisc drops)" "$drops"

begin "a tap nobody reads: its ring"
fresh_path
if [ ! -c /dev/net/tun ]; then
	skip_test "no /dev/net/tun"
else
	in_back $in_client "$helpers/flood" tap tap7
	ip -n "$client" link set tap7 txqueuelen 50 up
	ip -n "$client" addr add 10.78.0.1/24 dev tap7
	ip -n "$client" neigh add 10.78.0.2 lladdr 02:00:00:00:00:02 dev tap7
	before=$(dev_dropped tap7 TX)
	lose "$in_client $helpers/flood send 10.78.0.2 9 3000" -N "$client"
	want_that "found: $(found)" [ "$(found)" = "netpath.ring tap7;" ]
	drops=$(($(dev_dropped tap7 TX) - before))
	want_that "lost: $(evidence netpath.ring drops) of $drops" near "$(evidence netpath.ring drops)" "$drops"
	want_that "room for 50: $(evidence netpath.ring ring_size)" [ "$(evidence netpath.ring ring_size)" = 50 ]
fi

begin "the receiving end of a veth has a smaller MTU, seen from either end and from neither"
fresh_path
in_back $in_server "$helpers/packets" drain 10.77.0.1 5000
ip -n "$server" link set v0 mtu 100
for which in "$client" "$server" all; do
	before=$(server_dropped v0 RX)
	lose "$send 300 -s 200" -N "$which"
	want_that "found by $which: $(found)" [ "$(found)" = "netpath.link v0;" ]
	want_that "where" [ "$(netns_of netpath.link)" = "$server" ]
	drops=$(($(server_dropped v0 RX) - before))
	want_that "lost: $(evidence netpath.link drops) of $drops" near "$(evidence netpath.link drops)" "$drops"
	want_that "all of 300" [ "$drops" -ge 295 ]
	want_that "its MTU" [ "$(evidence netpath.link mtu_bytes)" = 100 ]
	want_that "the other's" [ "$(evidence netpath.link peer_mtu_bytes)" = 1500 ]
	want_that "the sender's counter is an echo" grep -q "tx_dropped of v1" "$work/findings"
done
in_back $in_server "$helpers/tcp" listen 10.77.0.1 8080 -b 64 -w 2 -h 0
before=$(server_dropped v0 RX)
lose "$in_client $helpers/tcp connect 10.77.0.1 8080 -n 20 -s 200 -t 2" -N "$client"
want_that "TCP's small requests: $(found)" [ "$(found)" = "netpath.link v0;" ]
drops=$(($(server_dropped v0 RX) - before))
want_that "lost: $(evidence netpath.link drops) of $drops" [ "$(evidence netpath.link drops)" -ge 20 ]

begin "a CPU's backlog"
fresh_path
cpus=$(nproc)
if [ "$cpus" -lt 2 ]; then
	skip_test "one CPU"
elif ! command -v nft >/dev/null || ! $in_server sh -c 'echo 2 >/sys/class/net/v0/queues/rx-0/rps_cpus'; then
	skip_test "no nft, or no RPS"
else
	in_back $in_server "$helpers/packets" drain 10.77.0.1 5000
	{
		echo 'table ip f {'
		echo 'chain i {'
		echo 'type filter hook prerouting priority -300;'
		for i in $(seq 2000); do echo "udp sport $((i + 1)) counter"; done
		echo '}'
		echo '}'
	} | $in_server nft -f -
	hex() { while read -r _ n _; do echo $((0x$n)); done </proc/net/softnet_stat | awk '{ s += $1 } END { print s }'; }
	before=$(hex)
	lose "taskset 1 $send 20000 -s 20" -N "$client"
	drops=$(($(hex) - before))
	if [ "$drops" -lt 1000 ]; then
		skip_test "the backlog lost $drops: this CPU is too fast"
	else
		want_that "found: $(found)" [ "$(found)" = "netpath.softnet CPU 1;" ]
		want_that "lost: $(evidence netpath.softnet drops) of $drops" near "$(evidence netpath.softnet drops)" "$drops"
		want_that "both devices are echoes" grep -q 'rx_dropped of v0.*tx_dropped of v1' "$work/findings"
	fi
fi

begin "a redirect to a device that is down"
fresh_path
in_back $in_server "$helpers/packets" drain 10.77.0.1 5000
ip -n "$server" link add w0 type veth peer name w1
w0=$(ip -n "$server" link show w0 | sed -n 's/^\([0-9]*\):.*/\1/p')
if ! $in_server tc qdisc add dev v0 clsact 2>"$work/why" ||
   ! $in_server tc filter add dev v0 ingress protocol ip pref 7 u32 match u32 0 0 action mirred egress redirect dev w0 \
	2>"$work/why"; then
	skip_test "no filter with a redirect: $(cat "$work/why")"
else
	lose "$send 2000 -r 4000" -N "$server"
	want_that "found: $(found) ($w0)" [ "$(found)" = "netpath.tc v0 ingress pref 7 u32 mirred;" ]
	want_that "lost: $(evidence netpath.tc drops)" near "$(evidence netpath.tc drops)" 2000
fi

begin "a carrier that goes and comes back; an end that is taken down is no news"
fresh_path
lose "ip -n $server link set v0 down; sleep 0.3; ip -n $server link set v0 up" -N "$client"
want_that "found: $(found)" [ "$(netns_of netpath.carrier | sort -u | tr '\n' ' ')" = "$client $server " ] 
want_that "twice: $(evidence netpath.carrier carrier_changes)" grep -q '"carrier_changes":2,' "$work/findings"
lose "ip -n $server link set v0 down" -N "$client"
want_that "found: $(found)" [ "$(found)" = "netpath.carrier v1;" ]

begin "what it printed live is what the saved run prints"
fresh_path
$in_client tc qdisc add dev v1 root handle 7: tbf rate 1mbit burst 5000 limit 20000
in_back $in_server "$helpers/packets" drain 10.77.0.1 5000
(sleep 0.5; $send 1000 -s 1000) >"$work/happened" 2>&1 &
run "$PERFBOX" netpath -N "$client" --save "$work/saved" 1 2
cp "$out" "$work/live"
run "$PERFBOX" netpath -N "$client" --root "$work/saved"
want_that "the same" cmp "$out" "$work/live"
finish
