# A listener that nobody accepts from, 64 clients, and a second one beside it that is all right.
. "$repo/tests/lib.sh"
. "$repo/tests/lib-tcp.sh"

begin "an accept queue of 8 overflows: the finding names that listener alone"
serve 127.0.0.1 8080 -b 8
serve_beside 127.0.0.1 8081 -b 8 -w 1
idle=$beside
client 127.0.0.1 8081 -n 400 -r 20
before=$(counter "$server" TcpExt ListenOverflows)
client 127.0.0.1 8080 -n 64
sleep 0.4
first=$(counter "$server" TcpExt ListenOverflows)
measure 3 1
after=$(counter "$server" TcpExt ListenOverflows)
want_that "status 1" [ "$live_status" = 1 ]
want_that "this and no other" only_found "listenq.accept-overflow 127.0.0.1:8080 tcp/$server"
want_unlike out '^(now|risk).*8081'

begin "its numbers are the kernel's"
drops=$(evidence listenq.accept-overflow drops)
want_that "the first SYN of 55 clients was dropped before" [ "$((first - before))" -ge 55 ]
want_that "drops: no more than ListenOverflows around it" between 3 "$drops" $((after - first))
want_that "all drops are overflows" [ "$drops" = "$(evidence listenq.accept-overflow listen_overflows)" ]
want_that "9 in a queue of 8" [ "$(evidence listenq.accept-overflow queue) $(evidence listenq.accept-overflow limit)" = "9 8" ]
want_that "PassiveOpens of the first: 9" between 9 "$(counter "$server" Tcp PassiveOpens)" 200
if command -v ss >/dev/null && command -v nsenter >/dev/null; then
	nsenter --net="/proc/$server/ns/net" ss -ltnmH >"$work/ss"
	want_that "ss has as many drops since it was opened" [ "$(sed -n '/:8080 /{n;s/.*,d\([0-9]*\)).*/\1/p}' "$work/ss")" -ge \
		"$(ask listeners local,drops | awk '$1 == "127.0.0.1:8080" { print $2 }')" ]
fi

begin "the rows: queue, most, limit, what set it, owner"
want_that "8080" [ "$(ask listeners local,queue,max,limit,by,owner | grep 8080)" = "127.0.0.1:8080	9	9	8	<	tcp/$server" ]
want_that "8081: nothing dropped, a process more" \
	[ "$(ask listeners local,dropped,limit,owner | grep 8081)" = "127.0.0.1:8081	0	8	tcp/$idle +1" ]
want_that "somaxconn" [ "$(ask listeners somaxconn | sort -u)" = "$(nsenter --net="/proc/$server/ns/net" cat /proc/sys/net/core/somaxconn 2>/dev/null || cat /proc/sys/net/core/somaxconn)" ]
want_that "overflows per second in the namespace" [ "$(ask namespaces listen_overflows)" -ge "$first" ]
want_that "polls" between 20 "$(ask host polls)" 151

begin "saved and replayed it is the same, to the byte, in every format"
for format in --json --tsv --openmetrics ""; do
	rm -rf "$work/again"
	run "$PERFBOX" listenq -N "$server" --save "$work/again" $format 0.3 1
	cp "$out" "$work/live"
	run "$PERFBOX" listenq -N "$server" --root "$work/again" $format
	want_that "same output: $format" cmp "$work/live" "$out"
done

begin "--pid: that process's listeners alone"
run "$PERFBOX" listenq -N "$server" --pid "$idle" --tsv --no-header --columns local 0.2 1
want_status 0
want_that "8081" [ "$(cut -f 2 "$out")" = 127.0.0.1:8081 ]

begin "ss's letters: -tlnpH4 as ss has them"
run "$PERFBOX" listenq -N "$server" -tlnpH4 --tsv --columns local 0.2 1
want_lines out 2
want_unlike out local
run "$PERFBOX" listenq -N "$server" -6 --tsv -H --columns local 0.2 1
want_empty out

begin "after it is over nothing is found"
end_clients
sleep 0.2
end_servers
serve 127.0.0.1 8080 -b 64 -w 4
client 127.0.0.1 8080 -n 2000 -r 200
sleep 0.5
measure 2 1
want_that "status 0: $(head -n 3 "$err")" [ "$live_status" = 0 ]
want_that "nothing" only_found
rate=$(ask listeners accepts_per_second)
want_that "about 200 accepted a second" between "$(awk -v s="$slack" 'BEGIN { print 200 / (1 + s) }')" "$rate" 260

begin "triage finds it in whichever namespace it is, and says where to look"
end_clients
end_servers
serve 127.0.0.1 8080 -b 8
client 127.0.0.1 8080 -n 64
sleep 0.3
run "$PERFBOX" triage --save "$work/triage" 2
want_status 1
want_match out "^now +listenq.accept-overflow  127.0.0.1:8080 tcp/$server  netns "
want_match out "next +perfbox listenq -N $server --pid $server 1"
cp "$out" "$work/live"
run "$PERFBOX" triage --root "$work/triage"
want_that "its saved run says the same" cmp "$work/live" "$out"
if command -v nsenter >/dev/null; then
	run nsenter --net="/proc/$server/ns/net" "$PERFBOX" triage 2
	want_status 1
	want_match out "^now +listenq.accept-overflow  127.0.0.1:8080 tcp/$server"
	want_match out "next +perfbox listenq --pid $server 1"
	want_unlike out '^clean.*accept queues'
fi

finish
