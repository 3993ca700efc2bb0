# Losses in the stack, each provoked alone in namespaces of the test's own: netpath names that layer, once, with the
# number the kernel counted, and nothing else.
. "$repo/tests/lib.sh"

helpers=$O/tests/live
packets=$helpers/packets
[ "$(id -u)" = 0 ] || skip_all "needs root"
command -v ip >/dev/null || skip_all "no ip (iproute2)"
c=pbt-np-c-$$ r=pbt-np-r-$$ s=pbt-np-s-$$
stayers=''

end_stayers()
{
	for pid in $stayers; do
		kill "$pid" 2>/dev/null
	done
	for pid in $stayers; do
		wait "$pid" 2>/dev/null
	done
	stayers=''
}
at_exit end_stayers

drop_spaces()
{
	end_stayers
	for ns in "$c" "$r" "$s"; do
		ip netns del "$ns" 2>/dev/null
	done
}
at_exit drop_spaces

in_c="ip netns exec $c" in_r="ip netns exec $r" in_s="ip netns exec $s"

# A new set of namespaces: nothing is left of the test before.
fresh()
{
	drop_spaces
	for ns in "$c" "$r" "$s"; do
		ip netns add "$ns" 2>/dev/null || skip_all "no network namespaces"
		ip -n "$ns" link set lo up
		ip netns exec "$ns" sh -c 'echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6' 2>/dev/null
	done
}

# cable NS IF CIDR NS IF CIDR
cable()
{
	ip link add "$2" netns "$1" type veth peer name "$5" netns "$4" || skip_all "no veth"
	ip -n "$1" addr add "$3" dev "$2"
	ip -n "$4" addr add "$6" dev "$5"
	ip -n "$1" link set "$2" up
	ip -n "$4" link set "$5" up
}

pair()
{
	fresh
	cable "$s" v0 10.9.1.1/24 "$c" v1 10.9.1.2/24
	# neighbours are known, and duplicate address detection is over
	$in_c "$packets" udp 10.9.1.1 9 3 10 >/dev/null 2>&1
	sleep 0.2
}

# stay NS JOB...: in the background until the next set; its process is $stayer
stay()
{
	: >"$work/stay"
	ip netns exec "$1" "$packets" "$2" "$3" "$4" $5 >"$work/stay" 2>&1 &
	stayer=$!
	stayers="$stayers $stayer"
	for try in $(seq 50); do
		! grep -q ready "$work/stay" || return 0
		sleep 0.05
	done
}

# watch "WHAT HAPPENS" OPTIONS...: in the middle of a look of SECONDS (4)
watch()
{
	happens=$1
	shift
	(sleep 1; eval "$happens") >"$work/happened" 2>&1 &
	run timeout 120 "$PERFBOX" netpath "$@" --json "${SECONDS_OF_LOOK:-4}" 1
	wait $!
	grep '"table":"findings"' "$out" | grep -E "\"netns\":\"pbt-np-[crs]-$$\"" >"$work/findings"
	grep '"table":"path"' "$out" >"$work/rows"
}

# "ID NAMESPACE SUBJECT;" of each, the namespace as c, r or s
found()
{
	sed -n "s/.*\"id\":\"netpath\.\([^\"]*\)\",\"state\":\"[^\"]*\",\"netns\":\"pbt-np-\([crs]\)-$$\",\"subject\":\"\([^\"]*\)\".*/\1 \2 \3/p" \
		"$work/findings" | sort | tr '\n' ';'
}
evidence() { grep "\"id\":\"netpath.$1\"" "$work/findings" | head -n 1 | sed -n "s/.*[{,]\"$2\":\"\{0,1\}\([^,\"}]*\).*/\1/p"; }
text() { grep "\"id\":\"netpath.$1\"" "$work/findings" | head -n 1; }
near() { awk -v a="$1" -v b="$2" -v by="${3:-0.05}" 'BEGIN { exit !(a != "" && b > 0 && a >= b * (1 - by) && a <= b * (1 + by)) }'; }
# counter NS FILE GROUP NAME, read by hand
counter()
{
	ip netns exec "$1" cat "/proc/net/$2" | awk -v g="$3:" -v n="$4" '
		$1 == g && !at { for (i = 2; i <= NF; i++) if ($i == n) at = i; next }
		$1 == g { print $at; exit }'
}
# moved NS FILE GROUP NAME: since note_counters
moved() { echo $(($(counter "$@") - $(cat "$work/was-$3$4"))); }
note() { counter "$@" >"$work/was-$3$4"; }
only() { want_that "found: $(found)" [ "$(found)" = "$1" ]; }

fresh
has_nft=
if command -v nft >/dev/null && $in_s nft 'add table ip t; add chain ip t i { type filter hook input priority 0; };
	add rule ip t i udp dport 1 numgen random mod 100 < 20 counter drop' 2>/dev/null; then
	has_nft=1
fi
# rules TEXT: of namespace $s, or of $2
rules() { echo "$1" | ip netns exec "${2:-$s}" nft -f -; }
# dropped HANDLE-PATTERN [NS]: the counter of the rule whose text matches, by nft
dropped() { ip netns exec "${2:-$s}" nft list ruleset | grep -E -- "$1" | sed -n 's/.*counter packets \([0-9]*\).*/\1/p' | head -n 1; }

begin "nftables: a random drop and a drop in OUTPUT are named, policy drops around them are not"
if [ -z "$has_nft" ]; then
	skip_test "no nft"
else
	pair
	rules 'table inet t {
		counter named { }
		set bad { type ipv4_addr; elements = { 10.9.1.77 } }
		chain in { type filter hook input priority 0; policy accept;
			udp dport 5000 numgen random mod 100 < 20 counter drop comment "lossy"
			udp dport 5001 numgen random mod 100 < 50 drop
			udp dport 5002 counter name named drop
			ip saddr @bad drop
			udp dport 5003 reject
			udp dport 5006 limit rate over 1/second counter drop
		}
		chain out { type filter hook output priority 0; policy accept;
			jump more
		}
		chain more { udp dport 5010 counter drop; }
	}
	table netdev nd { chain ing { type filter hook ingress device "v0" priority 0; udp dport 5004 counter drop; } }'
	stay "$s" drain 10.9.1.1 5000
	receiver=$stayer
	watch "for p in 5000 5001 5002 5003 5004 5006; do $in_c $packets udp 10.9.1.1 \$p 1000 100 & done;
		$in_s $packets udp 10.9.1.2 5010 300 100; wait" -N "$s"
	handle() { $in_s nft -a list ruleset | sed -n "s/.*dport $1 .*# handle \([0-9]*\)/\1/p"; }
	only "filter s inet t in handle $(handle 5000);filter s inet t more handle $(handle 5010);"
	want_that "as nft counts the random one" \
		[ "$(grep "handle $(handle 5000)\"" "$work/findings" | sed -n 's/.*"drops":\([0-9]*\).*/\1/p')" = "$(dropped 'dport 5000')" ]
	want_that "and that in OUTPUT: $(dropped 'dport 5010')" \
		[ "$(grep "handle $(handle 5010)\"" "$work/findings" | sed -n 's/.*"drops":\([0-9]*\).*/\1/p')" = 300 ]
	want_match "$work/findings" '"rule":"udp dport 5000 numgen random mod 100 < 20 counter drop comment \\"lossy\\""'
	want_match "$work/findings" '"hook":"output"'
	want_match "$work/findings" 'IpOutDiscards +\+300'
	# the others are rows: the named counter, ingress, the limit
	want_match "$work/rows" '"subject":"inet t in handle [0-9]*","state":"ok","evidence":"packets \+1,000"'
	want_match "$work/rows" '"subject":"netdev nd ing handle [0-9]*","state":"ok","evidence":"packets \+1,000"'
	want_match "$work/rows" '"subject":"not counted","state":"unknown".*3 of [0-9]+ rules and policies that drop have no counter'
	kill $receiver
	wait $receiver
	received=$(sed -n 's/^received //p' "$work/stay")
	want_that "sent less received: $received" [ "$((1000 - received))" = "$(dropped 'dport 5000')" ]
fi

begin "what was found live is what the saved run finds"
if [ -z "$has_nft" ]; then
	skip_test "no nft"
else
	(sleep 0.5; $in_s "$packets" udp 10.9.1.2 5010 50 100) >/dev/null 2>&1 &
	run "$PERFBOX" netpath -N "$s" --save "$work/saved" 2 1
	wait $!
	cp "$out" "$work/live"
	want_match out '^now +netpath.filter'
	run "$PERFBOX" netpath -N "$s" --root "$work/saved"
	want_that "the same" cmp "$out" "$work/live"
fi

begin "a healthy namespace whose firewall drops what it should: nothing is found"
if [ -z "$has_nft" ]; then
	skip_test "no nft"
else
	pair
	rules 'table inet fw { chain in { type filter hook input priority 0; policy drop;
			ct state established,related accept
			ct state invalid counter drop
			tcp dport 80 accept
			ip saddr 10.9.1.2 udp dport 1000-2000 counter drop
			icmp type echo-request limit rate 5/second accept
			counter drop
		}
		chain out { type filter hook output priority 0; policy accept; ct state invalid counter drop; udp dport 7 counter reject; } }'
	stay "$s" serve 10.9.1.1 80
	watch "$in_c $packets udp 10.9.1.1 1500 2000 100; $in_c $packets udp 10.9.1.1 3000 2000 100;
		$in_c $packets connects 10.9.1.1 80 50 1000; $in_c $packets connects 10.9.1.1 23 20 500;
		$in_s $packets udp 10.9.1.2 7 50 10" -N all
	only ""
	want_match "$work/happened" '^connected 50 of 50'
	want_match "$work/rows" '"evidence":"packets \+2,0[0-9][0-9]"'
fi

begin "a rule that cuts open connections off is named with one of them"
if [ -z "$has_nft" ]; then
	skip_test "no nft"
else
	pair
	stay "$s" eat 10.9.1.1 5001
	rules 'table ip t { chain i { type filter hook input priority 0; udp dport 9 counter drop; }; }'
	($in_c "$packets" bulk 10.9.1.1 5001 5 >/dev/null 2>&1) &
	bulk=$!
	SECONDS_OF_LOOK=4 watch "$in_s nft add rule ip t i ip saddr 10.9.1.2 tcp dport 5001 counter drop" -N all
	wait $bulk
	if [ "$(dropped 'dport 5001')" -lt 10 ]; then
		skip_test "only $(dropped 'dport 5001') packets came within the look"
	else
		want_match "$work/findings" '"id":"netpath.filter".*"subject":"ip t i handle [0-9]*".*"socket":"10.9.1.2:[0-9]+"'
		want_that "nothing else: $(found)" [ "$(found | tr ';' '\n' | grep -vc '^filter s ip t i handle')" = 1 ]
	fi
fi

begin "legacy iptables: the random drop is named, with its rule"
if ! command -v iptables-legacy >/dev/null; then
	skip_test "no iptables-legacy"
else
	pair
	if ! $in_s iptables-legacy -A INPUT -p udp --dport 5000 -m statistic --mode random --probability 0.2 -m comment --comment lossy -j DROP 2>"$work/legacy"; then
		skip_test "no legacy iptables: $(head -n 1 "$work/legacy")"
	else
		$in_s iptables-legacy -A INPUT -p tcp --dport 5001 -j DROP
		watch "$in_c $packets udp 10.9.1.1 5000 3000 100; $in_c $packets connects 10.9.1.1 5001 20 1000" -N "$s"
		only "filter s ip filter INPUT rule 1;"
		counted=$($in_s iptables-legacy -nvxL INPUT | awk '/statistic/ { print $1 }')
		want_that "as iptables counts: $counted" [ "$(evidence filter drops)" = "$counted" ]
		want_match "$work/findings" '"rule":"-p udp --dport 5000 -m statistic --mode random --probability 0.2 -m comment --comment \\"lossy\\" -j DROP"'
		want_match "$work/rows" '"subject":"ip filter INPUT rule 2","state":"ok"'
		# to ask is not to make: no table that was not there before
		want_that "no other table: $($in_s cat /proc/net/ip_tables_names)" [ "$($in_s cat /proc/net/ip_tables_names)" = filter ]
		want_that "none in the client" [ -z "$($in_c cat /proc/net/ip_tables_names)" ]
	fi
fi

begin "UDP: the socket whose buffer overflows, with its owner, and not its neighbour"
pair
stay "$s" sink 10.9.1.1 5000 "65536 5001"
note "$s" snmp Udp RcvbufErrors
watch "$in_c $packets udp 10.9.1.1 5000 2000 1000; $in_c $packets udp 10.9.1.1 5001 10 1; $in_c $packets udp 10.9.1.1 6000 50 1" -N "$s"
only "udp-rcvbuf s 10.9.1.1:5000 packets/$stayer;"
lost=$(moved "$s" snmp Udp RcvbufErrors)
want_that "at least 1,500: $lost" [ "$lost" -ge 1500 ]
want_that "as the kernel counts: $lost" [ "$(evidence udp-rcvbuf drops)" = "$lost" ]
want_that "its buffer" [ "$(evidence udp-rcvbuf rcvbuf_bytes)" = 131072 ]
want_match "$work/rows" '"layer":"udp","direction":"rx","subject":"UDP","state":"ok","evidence":"UdpNoPorts \+50"'
run "$PERFBOX" netpath -N "$s" --table sockets --tsv --columns local,rcvbuf_bytes,drops --no-header 0.2 1
want_match out "^10.9.1.1:5000	131072	$lost\$"

begin "TCP: what is sent again on a path that loses 5 %, by peer; the sender alone is looked at"
if [ -z "$has_nft" ]; then
	skip_test "no nft"
else
	pair
	rules 'table ip f { chain i { type filter hook input priority 0; tcp dport 5001 numgen random mod 100 < 5 counter drop; }; }'
	stay "$s" eat 10.9.1.1 5001
	$in_c sh -c 'command -v ethtool >/dev/null && ethtool -K v1 tso off gso off' >/dev/null 2>&1
	note "$c" snmp Tcp RetransSegs
	watch "timeout 10 $in_c $packets bulk 10.9.1.1 5001 1" -N "$c"
	again=$(moved "$c" snmp Tcp RetransSegs)
	only "tcp-retrans c 10.9.1.1:5001;"
	want_that "as the kernel counts: $again" near "$(evidence tcp-retrans sent_again)" "$again" 0.02
	want_that "less what was for nothing" near "$(evidence tcp-retrans drops)" \
		"$(($(evidence tcp-retrans sent_again) - $(evidence tcp-retrans duplicates) - $(evidence tcp-retrans loss_probes)))" 0.001
	# with the receiver in sight it is the rule's loss, once
	watch "timeout 10 $in_c $packets bulk 10.9.1.1 5001 1" -N all
	want_that "found: $(found)" [ "$(found | sed 's/handle [0-9]*/handle N/')" = "filter s ip f i handle N;" ]
	want_match "$work/findings" 'TcpRetransSegs in pbt-np-c'
fi

begin "SYNs alone are lost: sent again, and said to be SYNs"
if [ -z "$has_nft" ]; then
	skip_test "no nft"
else
	pair
	rules 'table ip f { chain i { type filter hook prerouting priority -300; tcp flags & (syn|ack) == syn numgen inc mod 2 == 0 counter drop; }; }'
	stay "$s" serve 10.9.1.1 80
	note "$c" netstat TcpExt TCPSynRetrans
	SECONDS_OF_LOOK=6 watch "$in_c $packets connects 10.9.1.1 80 200 4000" -N "$c"
	syns=$(moved "$c" netstat TcpExt TCPSynRetrans)
	only "tcp-retrans c 10.9.1.1:80;"
	want_match "$work/happened" '^connected 200 of 200'
	want_that "SYNs: $syns" [ "$(evidence tcp-retrans syn_retransmits)" = "$syns" ]
	want_that "all of it" [ "$(evidence tcp-retrans drops)" = "$syns" ]
	want_that "what the rule dropped: $(dropped 'flags')" [ "$syns" = "$(dropped 'flags')" ]
fi

begin "a path MTU black hole: the peer that does not learn, with what did not pass"
if [ -z "$has_nft" ]; then
	skip_test "no nft"
else
	fresh
	cable "$c" v0 10.9.7.1/24 "$r" v1 10.9.7.2/24
	cable "$r" w0 10.9.8.1/24 "$s" w1 10.9.8.2/24
	ip -n "$c" route add default via 10.9.7.2
	ip -n "$s" route add default via 10.9.8.1
	$in_r sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward'
	ip -n "$r" link set w0 mtu 600
	$in_c sh -c 'command -v ethtool >/dev/null && ethtool -K v0 tso off gso off' >/dev/null 2>&1
	rules 'table ip f { chain o { type filter hook output priority 0; icmp type destination-unreachable counter drop; }; }' "$r"
	stay "$s" serve 10.9.8.2 80
	note "$r" snmp Ip FragFails
	SECONDS_OF_LOOK=6 watch "$in_c $packets ask 10.9.8.2 80 1000 7000" -N all
	want_match "$work/happened" '^first ok second lost'
	fails=$(evidence mtu drops)
	only "mtu r 10.9.8.2:80;"
	want_that "failures: $fails" [ "${fails:-0}" -ge 5 ]
	want_that "no more than the kernel counts: $(moved "$r" snmp Ip FragFails)" [ "${fails:-0}" -le "$(moved "$r" snmp Ip FragFails)" ]
	want_that "the MTU" [ "$(evidence mtu mtu_bytes)" = 600 ]
	# when the sender is told, all goes well
	$in_r nft flush ruleset
	SECONDS_OF_LOOK=3 watch "$in_c $packets ask 10.9.8.2 80 1000 1500" -N all
	want_match "$work/happened" '^first ok second ok'
	only ""
fi

begin "the receiving end of a veth at MTU 100: the link, no layer above it"
pair
ip -n "$s" link set v0 mtu 100
stay "$s" serve 10.9.1.1 8080
SECONDS_OF_LOOK=5 watch "for n in 60 120 200 240; do $in_c $packets ask 10.9.1.1 8080 \$n 3500 & done; wait" -N all
want_match "$work/happened" 'second lost'
want_that "found: $(found)" [ "$(found | grep -o '[a-z-]* [crs] ' | sort -u | tr '\n' ';')" = "link s ;" ]

begin "reverse path filter: the device, and the number sent"
pair
$in_s sh -c 'echo 1 >/proc/sys/net/ipv4/conf/all/rp_filter; echo 1 >/proc/sys/net/ipv4/conf/v0/rp_filter'
note "$s" netstat TcpExt IPReversePathFilter
watch "$in_c $packets raw 10.9.1.1 172.16.5.5 10.9.1.1 100" -N "$s"
want_that "the kernel counts them" [ "$(moved "$s" netstat TcpExt IPReversePathFilter)" = 100 ]
only "rp-filter s v0;"
want_that "as sent" [ "$(evidence rp-filter drops)" = 100 ]

begin "martian sources: a row, of the whole host"
watch "$in_c $packets raw 10.9.1.1 127.0.0.1 10.9.1.1 100" -N "$s"
only ""
want_match "$work/rows" '"subject":"martian sources".*in_martian_src \+[1-9][0-9][0-9]'

begin "packets for others while forwarding is off"
watch "$in_c $packets raw 10.9.1.1 10.9.1.2 203.0.113.9 200" -N "$s"
only "route s IPv4;"
want_that "as sent" [ "$(evidence route drops)" = 200 ]
want_match "$work/findings" '"counter":"IpInAddrErrors"'

begin "no route: where it was sent, and where it was to be forwarded; routes that refuse are no loss of the stack"
fresh
cable "$c" v0 10.9.15.1/24 "$r" v1 10.9.15.2/24
$in_r sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward'
ip -n "$c" route add unreachable 198.51.100.128/25
ip -n "$c" route add prohibit 203.0.113.0/24
ip -n "$c" route add 192.0.2.0/24 via 10.9.15.2
$in_c "$packets" udp 10.9.15.2 9 3 10 >/dev/null 2>&1
watch "$in_c $packets udp 8.8.8.8 9 120 10; $in_c $packets udp 198.51.100.200 9 20 10; $in_c $packets udp 203.0.113.1 9 20 10
	$in_c $packets udp 192.0.2.1 9 60 10" -N all
only "route c IPv4;route r IPv4;"
want_that "of its own: $(evidence route drops)" [ "$(grep '"netns":"pbt-np-c' "$work/findings" | sed -n 's/.*"drops":\([0-9]*\).*/\1/p')" = 120 ]
want_that "to be forwarded" [ "$(grep '"netns":"pbt-np-r' "$work/findings" | sed -n 's/.*"drops":\([0-9]*\).*/\1/p')" = 60 ]

begin "wrong checksums: once, by protocol"
pair
mac=$($in_s cat /sys/class/net/v0/address)
ip netns exec "$s" true
mac=$(ip -n "$s" -o link show v0 | sed -n 's/.*ether \([0-9a-f:]*\) .*/\1/p')
stay "$s" drain 10.9.1.1 53
watch "for x in 'ip 10' 'tcp 20' 'udp 30'; do $in_c $packets bad v1 $mac 10.9.1.2 10.9.1.1 \$x; done" -N "$s"
only "checksum s checksums;"
want_that "in all" [ "$(evidence checksum drops)" = 60 ]
want_match "$work/findings" '"protocols":"IPv4 10, TCP 20, UDP 30"'

begin "fragments lost on the way: reassembly, where only the receiver is seen"
if [ -z "$has_nft" ]; then
	skip_test "no nft"
else
	pair
	$in_s sh -c 'echo 1 >/proc/sys/net/ipv4/ipfrag_time'
	# in the sender, behind IP: the receiver knows nothing of it
	if rules 'table netdev nd { chain e { type filter hook egress device "v1" priority 0; ip frag-off & 0x1fff != 0 numgen inc mod 3 == 0 counter drop; }; }' "$c" 2>/dev/null; then
		stay "$s" drain 10.9.1.1 5000
		note "$s" snmp Ip ReasmFails
		SECONDS_OF_LOOK=5 watch "$in_c $packets udp 10.9.1.1 5000 100 8000" -N "$s"
		only "reassembly s IPv4 reassembly;"
		want_that "all of them" [ "$(evidence reassembly drops)" = 100 ]
		want_that "as the kernel counts" [ "$(moved "$s" snmp Ip ReasmFails)" = 100 ]
		# with the sender in sight it is the rule's
		SECONDS_OF_LOOK=5 watch "$in_c $packets udp 10.9.1.1 5000 100 8000" -N all
		want_that "found: $(found)" [ "$(found | sed 's/handle [0-9]*/handle N/')" = "filter c netdev nd e handle N;" ]
	else
		skip_test "no egress hook (Linux 5.16)"
	fi
fi

begin "an address that does not answer: the queue of those that wait is full"
if [ ! -r /proc/net/stat/arp_cache ] || [ "$(readlink /proc/self/ns/net)" != "$(readlink /proc/1/ns/net)" ]; then
	skip_test "not in the initial namespace: nothing counts it"
else
	pair
	was=$(awk 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "unresolved_discards") at = i } NR > 1 { print $at }' /proc/net/stat/arp_cache | while read -r x; do echo $((0x$x)); done | awk '{ s += $1 } END { print s }')
	watch "$in_c $packets udp 10.9.1.99 9 3000 1000" -N "$c"
	now=$(awk 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "unresolved_discards") at = i } NR > 1 { print $at }' /proc/net/stat/arp_cache | while read -r x; do echo $((0x$x)); done | awk '{ s += $1 } END { print s }')
	grep '"table":"findings"' "$out" | grep neighbour >"$work/findings"
	want_that "lost: $((now - was))" near "$(evidence neighbour drops)" "$((now - was))" 0.05
	want_that "more than 1,000" [ "$((now - was))" -gt 1000 ]
	want_match "$work/findings" '"subject":"arp_cache"'
	want_match "$work/rows" '"subject":"unresolved".*10.9.1.99 dev v1'
fi

finish
