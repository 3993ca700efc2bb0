# Processes that share a listener: all busy, idle ones beside them, event loops, out of descriptors; and clients that
# closed before anybody accepted them.
. "$repo/tests/lib.sh"
. "$repo/tests/lib-tcp.sh"

begin "five workers hold each connection 500 ms, 30 arrive a second: all busy"
serve 127.0.0.1 8080 -b 400 -w 5 -h 500
client 127.0.0.1 8080 -n 600 -r 30
sleep 1.5
measure 2 1
want_that "this and no other" only_found "listenq.workers-busy 127.0.0.1:8080 tcp/$server +5"
want_that "six processes share it, five work" \
	[ "$(evidence listenq.workers-busy processes) $(evidence listenq.workers-busy workers)" = "6 5" ]
want_that "none was in accept" [ "$(evidence listenq.workers-busy workers_in_accept)" = 0 ]
want_that "each holds one 500 ms: 10 accepted a second" between 6 "$(evidence listenq.workers-busy accepts_per_second)" 12
want_that "hold time" between 400000000 "$(evidence listenq.workers-busy hold_ns)" 900000000
want_that "30 arrive" between $((30 - 15 * slack)) "$(evidence listenq.workers-busy arrivals_per_second)" 35
want_that "15 workers are needed" between 8 "$(evidence listenq.workers-busy need_low_workers)" 25
want_match out 'owner +6 threads: '

begin "five workers that keep up, with short queues now and then: nothing"
end_clients
end_servers
serve 127.0.0.1 8080 -b 64 -w 5 -h 10
client 127.0.0.1 8080 -n 2000 -r 100
sleep 0.5
measure 2 1
want_that "nothing" only_found
want_that "status 0" [ "$live_status" = 0 ]

begin "event loops that wait for events are not called busy"
end_clients
end_servers
# nobody accepts but the processes that share it wait in epoll, as with an accept mutex
serve 127.0.0.1 8080 -b 64 -w 3 -E
client 127.0.0.1 8080 -n 20
sleep 0.5
measure 1 1
want_that "nothing" only_found
want_that "20 wait" [ "$(ask listeners queue)" = 20 ]

begin "ten clients sent something, closed, and were never accepted"
end_clients
end_servers
serve 127.0.0.1 8080 -b 64
serve_beside 127.0.0.1 8081 -b 64
client 127.0.0.1 8080 -n 10 -s 100 -c 100
# these wait, too, but are still there; and these have closed, but had said nothing
client 127.0.0.1 8081 -n 10 -s 100
client 127.0.0.1 8081 -n 10 -c 100
sleep 0.5
measure 1 1
want_that "this and no other" only_found "listenq.clients-gave-up 127.0.0.1:8080 tcp/$server"
want_that "ten" [ "$(evidence listenq.clients-gave-up gave_up) $(evidence listenq.clients-gave-up queue)" = "10 10" ]
want_that "rows" [ "$(ask listeners local,gave_up | sort | tr '\t\n' '  ')" = "127.0.0.1:8080 10 127.0.0.1:8081 0 " ]

begin "an owner that has no descriptor left"
end_clients
end_servers
serve 127.0.0.1 8080 -b 64 -f 60
client 127.0.0.1 8080 -n 10
sleep 0.3
measure 1 1
want_that "this and no other" only_found "listenq.owner-fd-limit 127.0.0.1:8080 tcp/$server"
want_that "its limit" [ "$(evidence listenq.owner-fd-limit descriptor_limit)" = 60 ]
want_that "its descriptors" [ "$(evidence listenq.owner-fd-limit descriptors)" = "$(ls "/proc/$server/fd" | wc -l)" ]

begin "a queue of 64 that is more than four fifths full all the time: a risk"
end_clients
end_servers
serve 127.0.0.1 8080 -b 64
serve_beside 127.0.0.1 8081 -b 64
client 127.0.0.1 8080 -n 54
client 127.0.0.1 8081 -n 40
sleep 0.3
measure 1 1
want_that "this and no other" only_found "listenq.near-full 127.0.0.1:8080 tcp/$server"
want_that "54 of 64" [ "$(evidence listenq.near-full max_queue) $(evidence listenq.near-full limit)" = "54 64" ]
want_that "status 1" [ "$live_status" = 1 ]

begin "a process that is stopped is said to be"
kill -STOP "$server"
measure 1 1
want_match out 'owner +1 thread: 1 stopped'
kill -CONT "$server"

finish
