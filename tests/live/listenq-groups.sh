# SO_REUSEPORT groups, MPTCP, UNIX listeners, IPv4 and IPv6, several namespaces.
. "$repo/tests/lib.sh"
. "$repo/tests/lib-tcp.sh"

begin "of four sockets on one address one is not emptied: that one is named"
serve 127.0.0.1 8080 -b 64 -g 4 -w 1
serve_beside 127.0.0.1 8081 -b 64 -g 4
client 127.0.0.1 8080 -n 1000 -r 150
# a group that nobody empties at all has no stalled member
client 127.0.0.1 8081 -n 120
sleep 2
measure 2 1
id=listenq.reuseport-stall
# it may drop as well
want_that "this one alone" [ "$(found | grep -v '^listenq.accept-overflow 127.0.0.1:8080')" = "$id 127.0.0.1:8080 tcp/$server" ]
want_that "four members" [ "$(evidence $id members)" = 4 ]
want_that "its queue" [ "$(evidence $id queue)" -ge 58 ]
want_that "the others' are short" between 0 "$(evidence $id others_queue)" 6
want_that "a line of sums and four members of each group" [ "$(ask listeners local,member | cut -f 1 | sort | uniq -c | tr -s ' \n' ' ')" = \
	" 5 127.0.0.1:8080 5 127.0.0.1:8081 " ]
sum=$(ask listeners local,member,queue | awk '$1 ~ /:8080/ && $2 != "all" { n += $3 } END { print n }')
want_that "the line's queue is their sum" [ "$(ask listeners local,member,queue | awk '$1 ~ /:8080/ && $2 == "all" { print $3 }')" = "$sum" ]

begin "a dual listener, an IPv4 and an IPv6 one on the same port, are three places"
end_clients
end_servers
serve 0.0.0.0 8080 -b 64
serve_beside ::1 8080 -b 64
# a dual one has the port of a specific one
serve_beside :: 8081 -b 64
client 127.0.0.1 8081 -n 6 -s 9 -c 50
client 127.0.0.1 8080 -n 4 -s 9 -c 50
client ::1 8080 -n 3 -s 9 -c 50
sleep 0.5
measure 0.5 1
want_that "clients that gave up are counted where they are" [ "$(ask listeners local,queue,gave_up | sort | tr '\t\n' ' ;')" = \
	"*:8081 6 6;0.0.0.0:8080 4 4;[::1]:8080 3 3;" ]

begin "an MPTCP listener is one row, with its owner and its drops"
end_clients
end_servers
if serve 127.0.0.1 8080 -m -b 8 && [ -n "$server" ] && kill -0 "$server" 2>/dev/null; then
	client 127.0.0.1 8080 -n 40
	sleep 0.5
	measure 2 1
	want_that "one row" [ "$(ask listeners protocol,local,queue,limit,owner)" = "mptcp	127.0.0.1:8080	9	8	tcp/$server" ]
	want_that "its drops" only_found "listenq.accept-overflow 127.0.0.1:8080 tcp/$server"
else
	why=
	skip_test "no MPTCP: $(head -n 1 "$work/server.err")"
fi

begin "UNIX listeners, by path: -x, and -tx"
end_clients
end_servers
serve 127.0.0.1 8080 -b 8
serve_beside unix "$work/socket" -b 20
"$tcp" connect unix "$work/socket" -n 18 -N "$server" >/dev/null 2>&1 &
clients="$clients $!"
sleep 0.3
selection=-x
measure -x 1 1
want_that "near its limit" only_found "listenq.near-full $work/socket tcp/$beside"
want_that "one row" [ "$(ask listeners protocol,local,queue,max,limit,owner)" = "unix	$work/socket	18	18	20	tcp/$beside" ]
selection=-tx
measure -tx 0.2 1
want_that "both" [ "$(ask listeners protocol | sort | tr '\n' ' ')" = "tcp unix " ]
selection=

begin "-N all: each row says where it is, and the counters of one are not another's"
end_clients
end_servers
serve 127.0.0.1 8080 -b 8
one=$server kept=$servers
serve 127.0.0.1 8080 -b 8
two=$server
servers="$kept $servers"
client 127.0.0.1 8080 -n 40
sleep 0.4
run "$PERFBOX" listenq -N all --save "$work/all" 2 1
selection='-N all'
rows()
{
	"$PERFBOX" listenq -N all --root "$work/all" --tsv --no-header --columns netns,queue,owner 2>/dev/null |
		awk -F'\t' -v owner="tcp/$1" '$4 == owner { print $2 " " $3 }'
}
want_status 1
want_that "one: nothing waits" [ "$(rows "$one" | awk '{ print $2 }')" = 0 ]
want_that "two: nine wait" [ "$(rows "$two" | awk '{ print $2 }')" = 9 ]
want_that "they have two names" [ "$(rows "$one" | cut -d ' ' -f 1)" != "$(rows "$two" | cut -d ' ' -f 1)" ]
"$PERFBOX" listenq -N all --root "$work/all" --tsv --no-header --table findings 2>/dev/null | cut -f 2,5 | grep tcp/ >"$work/found"
want_that "two's is found, one's is not" [ "$(cat "$work/found")" = "listenq.accept-overflow	127.0.0.1:8080 tcp/$two" ]
netns=$("$PERFBOX" listenq -N all --root "$work/all" --json --table findings 2>/dev/null | sed -n 's/.*"netns":"\([^"]*\)".*/\1/p' | head -n 1)
want_that "with the namespace beside it" [ "$netns" = "$(rows "$two" | cut -d ' ' -f 1)" ]
run "$PERFBOX" listenq -N all --root "$work/all"
want_match out "next +perfbox listenq -N $two --pid $two 1"

begin "one that isn't there"
run "$PERFBOX" listenq -N pbt-none 0.1 1
want_status 3
want_match err 'pbt-none'

finish
