# Half-open connections: SYNs that nobody answers for, against a SYN queue, against tcp_max_syn_backlog, with cookies; and
# last ACKs that come when the accept queue is full.
. "$repo/tests/lib.sh"
. "$repo/tests/lib-tcp.sh"

command -v ip >/dev/null && command -v sysctl >/dev/null || skip_all "no ip or no sysctl"
s=pbt-$$-s c=pbt-$$-c
ip netns add $s 2>"$work/why" || skip_all "ip netns add: $(cat "$work/why")"
at_exit "ip netns del $s; ip netns del $c 2>/dev/null"
ip netns add $c
ip link add v0 netns $s type veth peer name v1 netns $c 2>"$work/why" || skip_all "no veth: $(cat "$work/why")"
ip -n $s addr add 10.9.2.1/24 dev v0
ip -n $c addr add 10.9.2.2/24 dev v1
for end in "$s v0" "$c v1" "$s lo" "$c lo"; do
	ip -n ${end% *} link set ${end#* } up
done
# SYNs come from an address that nobody has: nobody resets the answers
ip -n $s neigh add 10.9.2.3 lladdr "$(ip -n $c link show v1 | awk '/ether/ { print $2 }')" dev v0

# listeners COOKIES MAX_SYN_BACKLOG: new ones, the second of which is all right
listeners()
{
	end_servers
	ip netns exec $s sysctl -qw net.ipv4.tcp_syncookies=$1 net.ipv4.tcp_max_syn_backlog=$2
	start "$work/first" ip netns exec $s "$tcp" listen 0.0.0.0 8080 -b 64
	server=$started
	start "$work/second" ip netns exec $s "$tcp" listen 0.0.0.0 8081 -b 64
	servers="$server $started"
}

# flood_and_measure: 200 SYNs while it looks
flood_and_measure()
{
	before=$(counter "$server" TcpExt ListenDrops)
	(
		sleep 0.7
		ip netns exec $c "$tcp" syn 10.9.2.1 8080 10.9.2.3 -n 200
	) >/dev/null 2>"$work/flood" &
	flood=$!
	measure 2 1
	wait $flood
	after=$(counter "$server" TcpExt ListenDrops)
	want_empty "$work/flood"
}

half_open()
{
	ask listeners local,syn_queue | awk '$1 == "0.0.0.0:8080" { print $2 }'
}

begin "cookies off: a SYN queue of 64 overflows"
listeners 0 2048
flood_and_measure
want_that "this and no other" only_found "listenq.syn-overflow 0.0.0.0:8080 tcp/$server"
want_that "64 or 65 are half open" between 64 "$(half_open)" 65
want_that "the others were dropped" [ "$(evidence listenq.syn-overflow drops)" = $((200 - $(half_open))) ]
want_that "as many as ListenDrops moved" [ "$(evidence listenq.syn-overflow drops)" = $((after - before)) ]
want_that "TCPReqQFullDrop" [ "$(evidence listenq.syn-overflow syn_queue_full_drops)" = $((after - before)) ]
want_that "none at 8081" [ "$(ask listeners local,syn_queue,dropped | awk '$1 == "0.0.0.0:8081" { print $2, $3 }')" = "0 0" ]

begin "cookies off, tcp_max_syn_backlog 32: three quarters of it are the limit"
listeners 0 32
flood_and_measure
want_that "this and no other" only_found "listenq.syn-limit 0.0.0.0:8080 tcp/$server"
want_that "24 or 25 are half open" between 24 "$(half_open)" 25
want_that "the others were dropped" [ "$(evidence listenq.syn-limit drops)" = $((after - before)) ]
want_that "no counter tells why" [ "$(evidence listenq.syn-limit unexplained_listen_drops)" = $((after - before)) ]
want_that "the limit is shown" [ "$(ask namespaces syn_limit)" = 24 ]

begin "cookies on: they are sent, nothing is wrong"
listeners 1 2048
flood_and_measure
want_that "nothing" only_found
want_that "status 0" [ "$live_status" = 0 ]
want_that "64 or 65 are half open" between 64 "$(half_open)" 65
want_that "cookies are shown" between 1 "$(ask namespaces cookies_per_second)" 200

begin "cookies always: counters move while all queues are empty, nothing is wrong"
listeners 2 2048
flood_and_measure
want_that "nothing" only_found
want_that "no half-open ones" [ "$(half_open)" = 0 ]
want_that "cookies are shown" between 1 "$(ask namespaces syn_full_cookies_per_second)" 200

begin "last ACKs that find the accept queue full: only --exact tells"
listeners 1 2048
if ! command -v tc >/dev/null || ! ip netns exec $s tc qdisc add dev v0 root tbf rate 16kbit burst 100 limit 100000 2>"$work/why"; then
	skip_test "answers can't be slowed down: $(cat "$work/why" 2>/dev/null)"
	finish
fi
end_servers
start "$work/first" ip netns exec $s "$tcp" listen 0.0.0.0 8080 -b 8
server=$started
start "$work/second" ip netns exec $s "$tcp" listen 0.0.0.0 8081 -b 8 -w 1
servers="$server $started"
connect()
{
	ip netns exec $c "$tcp" connect 10.9.2.1 "$@" >/dev/null 2>&1 &
	clients="$clients $!"
}
connect 8080 -n 5
connect 8081 -n 40 -r 3
sleep 1
(
	sleep 0.7
	exec ip netns exec $c "$tcp" connect 10.9.2.1 8080 -n 9 -t 4
) >/dev/null 2>&1 &
clients="$clients $!"
selection=--exact
before=$(counter "$server" TcpExt ListenOverflows)
measure --exact 2.5 1
after=$(counter "$server" TcpExt ListenOverflows)
if [ "$live_status" = 3 ] && grep -Eqi 'bpf|btf|not permitted' "$err"; then
	skip_test "BPF can't be used: $(head -n 1 "$err")"
	finish
fi
if grep -q 'no drop reason' "$err"; then
	want_that "unknown on this kernel: not found, never 0" only_found "listenq.accept-overflow 0.0.0.0:8080 tcp/$server"
	finish
fi
want_that "found, and the overflow beside it" only_found "listenq.accept-overflow 0.0.0.0:8080 tcp/$server" \
	"listenq.final-ack 0.0.0.0:8080 tcp/$server"
refused=$(evidence listenq.final-ack refused)
want_that "as many as overflows" between 3 "$refused" $((after - before))
want_that "the socket counts each twice" [ "$(evidence listenq.accept-overflow drops)" = $((2 * refused)) ]
want_that "arrivals of each listener: 4 more fit at 8080" [ "$(evidence listenq.final-ack arrived)" = 4 ]
want_that "and about 3 a second were accepted at 8081" between 1 "$(ask listeners local,accepts_per_second | awk '$1 ~ /:8081/ { print $2 }')" 4

finish
