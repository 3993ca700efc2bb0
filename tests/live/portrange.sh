# Ports that run out in a namespace of the test's own with 50 of them: what connect() says is what portrange says.
. "$repo/tests/lib.sh"

ports=$O/tests/live/ports
slack=${LIVE_SLACK:-1}
pids='' spaces=''

[ "$(id -u)" = 0 ] || skip_all "needs root: it makes network namespaces"
[ -x "$ports" ] || skip_all "$ports is not built"
ip netns add pbt-ports-$$ 2>/dev/null || skip_all "network namespaces can't be made (ip netns)"
ip netns del pbt-ports-$$

# Ends all that runs and takes the namespaces away: each test has its own.
clean_up()
{
	for pid in $pids; do
		kill "$pid" 2>/dev/null
		wait "$pid" 2>/dev/null
	done
	for space in $spaces; do
		ip netns del "$space"
	done
	pids='' spaces=''
}
at_exit clean_up

inside() { ip netns exec "$@"; }

# make_space NAME [TCP_TW_REUSE]: $space, with 50 ports
make_space()
{
	space=pbt-ports-$$-$1
	ip netns add "$space"
	spaces="$spaces $space"
	ip -n "$space" link set lo up
	inside "$space" sh -c "echo '40000 40049' >/proc/sys/net/ipv4/ip_local_port_range; echo ${2:-2} >/proc/sys/net/ipv4/tcp_tw_reuse"
}

# use STEPS...: in $space, in the background; back when the last step before "hold" is done. Its lines in $said.
use()
{
	said=$work/said.$space
	ip netns exec "$space" "$ports" "$@" >"$said" 2>&1 &
	pids="$pids $!"
	lines=$(echo "$*" | grep -Eow 'connect|close|rate|bound|udp|udprate|udpto' | wc -l)
	for try in $(seq 100); do
		[ "$(wc -l <"$said")" -lt "$lines" ] || break
		sleep 0.1
	done
}

# count STEP WHAT [STEPS LINE]: how many of them said so
count() { awk -v step="$1" -v what="$2" '$1 == step { for (i = 2; i <= NF; i++) if (split($i, a, "=") && a[1] == what) { print a[2]; exit } }' "${3:-$said}"; }

# look [OPTIONS...]: of all namespaces, saved; what was found in ours stands in $work/found, "id netns subject"
look()
{
	runs=$((${runs:-0} + 1))
	saved=$work/run$runs
	run "$PERFBOX" portrange -N all --save "$saved" --json "$@" 0.5 1
	grep '"table":"findings"' "$out" | grep -F "pbt-ports-$$" >"$work/json"
	sed 's/.*"id":"\([^"]*\)".*"netns":"pbt-ports-'$$'-\([^"]*\)","subject":"\([^"]*\)".*/\1 \2 \3/' "$work/json" >"$work/found"
}

# found LINES: exactly these, in any order
found()
{
	printf '%s' "${1:+$1
}" | sort >"$work/wanted"
	sort "$work/found" | diff "$work/wanted" -
}

# evidence ID NAME
evidence() { grep "\"id\":\"$1\"" "$work/json" | sed "s/.*\"$2\":\([0-9.]*\).*/\1/"; }

# field TABLE NAME SUBSTRING: of the row that has it
field() { grep "\"table\":\"$1\"" "$out" | grep -F "$3" | sed "s/.*\"$2\":\"*\([^,\"}]*\).*/\1/"; }

sockstat() { inside "$space" awk -v key="$1" '$1 == "TCP:" { for (i = 2; i < NF; i += 2) if ($i == key) print $(i + 1) }' /proc/net/sockstat; }

begin "one destination has all 50 ports: it is named, with connect()'s own numbers, and no other"
make_space other
use serve 127.0.0.1 80 connect 127.0.0.1 80 20 hold
make_space hurt
use listen 127.0.0.1 40007 serve 127.0.0.1 80 serve 127.0.0.1 81 connect 127.0.0.1 80 60 connect 127.0.0.1 81 20 hold
ok=$(count connect ok)
want_that "connect() got 49 and failed 11 times" [ "$ok,$(count connect EADDRNOTAVAIL)" = 49,11 ]
look
want_status 1
want_that "these findings" found "portrange.exhausted hurt 127.0.0.1 -> 127.0.0.1:80"
want_that "established: as many as connected" [ "$(evidence portrange.exhausted established)" = "$ok" ]
want_that "usable 50" [ "$(evidence portrange.exhausted usable)" = 50 ]
want_that "free 0" [ "$(evidence portrange.exhausted free)" = 0 ]
want_that "one port is the listener's" [ "$(evidence portrange.exhausted held_whatever_destination)" = 1 ]
want_match "$work/json" "\"holders\":\"ports/[0-9]+ 49\""
want_that "the other destination has 29 left" [ "$(field destinations free 127.0.0.1:81)" = 29 ]
want_that "the listener in the range has a row" [ "$(field listeners local "pbt-ports-$$-hurt")" = 127.0.0.1:40007 ]
want_that "and an owner" [ "$(field listeners owner 40007 | sed 's/[0-9]*$//')" = ports/ ]
run inside "$space" "$ports" connect 127.0.0.1 80 1 connect 127.0.0.1 81 1
want_match out '^connect ok=0 EADDRNOTAVAIL=1 '
want_match out '^connect ok=1 '

begin "replayed it is the same to the byte"
look
"$PERFBOX" portrange --root "$saved" -N all --json >"$work/again" 2>/dev/null
want_that "same bytes" cmp "$out" "$work/again"

begin "triage finds it too"
run "$PERFBOX" triage --tsv --table findings --no-header 0.5
want_match out "portrange.exhausted	now	pbt-ports-$$-hurt	127.0.0.1 -> 127.0.0.1:80"
want_that "once" [ "$(grep -c "pbt-ports-$$" "$out")" = 1 ]
clean_up

begin "half of the ports and a quiet pool: nothing found"
make_space quiet
use serve 127.0.0.1 80 connect 127.0.0.1 80 30 hold
look
want_that "nothing" found ''
clean_up

begin "40 of 50 in TIME_WAIT, not reused: time-wait, as many as sockstat says; 10 more: exhausted"
make_space waiting 0
use serve 127.0.0.1 80 serve 127.0.0.1 81 close 127.0.0.1 80 40 close 127.0.0.1 81 5 hold
sleep 0.7
look
want_that "these findings" found "portrange.time-wait waiting 127.0.0.1 -> 127.0.0.1:80"
want_that "as many as sockstat counts, but for the 5 of :81" [ "$(evidence portrange.time-wait time_wait)" = $(($(sockstat tw) - 5)) ]
run inside "$space" "$ports" close 127.0.0.1 80 15
want_match out '^close ok=10 EADDRNOTAVAIL=5 '
sleep 0.7
look
want_that "these findings" found "portrange.exhausted waiting 127.0.0.1 -> 127.0.0.1:80
portrange.time-wait waiting 127.0.0.1 -> 127.0.0.1:80"

begin "the same 50 where they are reused after a second: nothing, and connect() succeeds"
inside "$space" sh -c 'echo 1 >/proc/sys/net/ipv4/tcp_tw_reuse'
sleep 0.7
look
want_that "nothing" found ''
want_that "all can be taken" [ "$(field destinations reusable '127.0.0.1:80"')" = $(($(sockstat tw) - 5)) ]
run inside "$space" "$ports" connect 127.0.0.1 80 5
want_match out '^connect ok=5 '
clean_up

begin "TIME_WAIT of a server inside the range is not its clients'"
make_space server 0
use drop 127.0.0.1 40020 hold
sleep 0.3
for round in 1 2; do
	inside "$space" "$ports" connect 127.0.0.1 40020 20 >/dev/null
	sleep 0.2
done
want_that "there are 20 or more" [ "$(sockstat tw)" -ge 20 ]
look
want_that "nothing" found ''
want_that "their rows are not there" [ -z "$(field destinations time_wait "pbt-ports-$$-server")" ]
clean_up

begin "connections at 6 a second: soon, with that rate"
make_space rate 0
use serve 127.0.0.1 80 close 127.0.0.1 80 20 hold
ip netns exec "$space" "$ports" rate 127.0.0.1 80 6 30 >/dev/null &
pids="$pids $!"
sleep 0.5
run "$PERFBOX" portrange -N "$space" --json 1 1
grep '"table":"findings"' "$out" >"$work/json"
want_that "soon alone" [ "$(grep -c . "$work/json"),$(grep -c portrange.soon "$work/json")" = 1,1 ]
want_that "about 6/s" awk -v r="$(evidence portrange.soon connects_per_second)" -v s="$slack" 'BEGIN { exit !(r >= 6 - 2 * s && r <= 7.5) }'
want_that "some 360 are needed" awk -v n="$(evidence portrange.soon need_ports)" -v s="$slack" 'BEGIN { exit !(n >= 360 - 120 * s && n <= 450) }'
clean_up

begin "unconnected UDP sockets that grow past half of the range"
make_space udp
use udp 26 hold
ip netns exec "$space" "$ports" udprate 10 20 hold >/dev/null &
pids="$pids $!"
sleep 0.3
look
want_that "these findings" found "portrange.udp-unconnected udp udp 40000-40049"
want_that "more than half" [ "$(evidence portrange.udp-unconnected unconnected)" -ge 25 ]
sleep 2
look
want_that "as many as before: nothing" found ''

begin "UDP: none is left, connected or not"
inside "$space" "$ports" udpto 127.0.0.1 53 20 >"$work/full"
want_that "the kernel had 4 left" [ "$(count udpto ok "$work/full"),$(count udpto EAGAIN "$work/full")" = 4,16 ]
use udpto 127.0.0.1 53 20 hold
look
want_that "these findings" found "portrange.exhausted udp udp 40000-40049"
want_that "46 unconnected" [ "$(evidence portrange.exhausted unconnected)" = 46 ]
clean_up

begin "the TIME_WAIT table is full: as many as TCPTimeWaitOverflow moved"
make_space table 0
inside "$space" sh -c 'echo 5 >/proc/sys/net/ipv4/tcp_max_tw_buckets'
use serve 127.0.0.1 80 close 127.0.0.1 80 5 hold
ip netns exec "$space" "$ports" rate 127.0.0.1 80 20 30 >/dev/null &
pids="$pids $!"
sleep 0.3
look
want_that "these findings" found "portrange.tw-overflow table TIME_WAIT"
overflows() { awk '$1 == "TcpExt:" { if (!at) { for (i = 2; i <= NF; i++) if ($i == "TCPTimeWaitOverflow") at = i } else print $at }' "$saved/$1/netns/$(stat -L -c %i "/run/netns/$space")/proc/net/netstat"; }
want_that "as many as the files say" [ "$(evidence portrange.tw-overflow overflows)" = $(($(overflows 000001) - $(overflows 000000))) ]
clean_up

begin "bound before they connected: proved with --exact, not claimed without"
make_space bound
use serve 127.0.0.1 80 bound 127.0.0.1 127.0.0.1 80 20 connect 127.0.0.1 80 10 hold
look --exact
if [ "$status" = 3 ]; then
	skip_test "$(head -n 1 "$err")"
else
	want_that "these findings" found "portrange.bind-before-connect bound tcp 40000-40049"
	want_that "20" [ "$(evidence portrange.bind-before-connect bound)" = 20 ]
	look
	want_that "nothing" found ''
fi

finish
