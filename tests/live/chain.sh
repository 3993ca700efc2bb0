# The classic chain: clients, nginx, a prefork backend, and few ports between the two. One limit after the other
# is lifted, and each time triage must name the next one, in its namespace, and nothing else there; at the end nothing.
. "$repo/tests/lib.sh"

http=$O/tests/live/http
slack=${LIVE_SLACK:-1}
base=pbt-chain-$$
web=$base-web app=$base-app users=$base-users
nginx_pid='' backend='' clients=''

[ "$(id -u)" = 0 ] || skip_all "needs root: it makes network namespaces"
[ -x "$http" ] || skip_all "$http is not built"
# scripts/setup --test unpacks it there, as an installed one is started by the package
nginx=$(command -v nginx) || nginx=$repo/build/nginx/usr/sbin/nginx
"$nginx" -v 2>/dev/null || skip_all "no nginx that runs here (scripts/setup --test gets it)"
ip netns add "$web" 2>/dev/null || skip_all "network namespaces can't be made (ip netns)"
at_exit 'end_one "$clients"; end_one "$nginx_pid"; end_one "$backend"
	for space in "$users" "$web" "$app"; do ip netns del "$space" 2>/dev/null; done'
ip netns add "$app" && ip netns add "$users" || exit 1

end_one()
{
	[ -n "$1" ] && kill "$1" 2>/dev/null && wait "$1" 2>/dev/null
}

# link SPACE ADDRESS SPACE ADDRESS
link()
{
	ip link add pbt0 netns "$1" type veth peer name "pbt1" netns "$3" &&
		ip -n "$1" addr add "$2/24" dev pbt0 && ip -n "$1" link set pbt0 up &&
		ip -n "$3" addr add "$4/24" dev pbt1 && ip -n "$3" link set pbt1 up
}
link "$users" 10.77.1.1 "$web" 10.77.1.2 || skip_all "no veth devices"
link "$web" 10.77.2.1 "$app" 10.77.2.2 || exit 1

set_web() { ip netns exec "$web" sh -c "echo '$2' >/proc/sys/$1"; }

# start SPACE COMMAND...: in the background, until it is ready; its process is $started
start()
{
	space=$1
	shift
	: >"$work/said"
	ip netns exec "$space" "$@" >"$work/said" 2>>"$work/errors" &
	started=$!
	for try in $(seq 100); do
		! grep -q ready "$work/said" || return 0
		kill -0 $started 2>/dev/null || break
		sleep 0.05
	done
	add_why "not ready: $* $(tail -n 1 "$work/errors")"
}

# serve_web BACKLOG: nginx, the old one gone
serve_web()
{
	end_one "$nginx_pid"
	mkdir -p "$work/nginx"
	cat >"$work/nginx/conf" <<-end
		daemon off;
		user root;
		worker_processes 1;
		worker_cpu_affinity 0001;
		pid $work/nginx/pid;
		error_log $work/nginx/error.log crit;
		events { worker_connections 1000; }
		http {
			access_log off;
			client_body_temp_path $work/nginx/body;
			proxy_temp_path $work/nginx/proxy;
			fastcgi_temp_path $work/nginx/fastcgi;
			uwsgi_temp_path $work/nginx/uwsgi;
			scgi_temp_path $work/nginx/scgi;
			server {
				listen 10.77.1.2:80 backlog=$1;
				location / { proxy_pass http://10.77.2.2:8080; }
			}
		}
	end
	ip netns exec "$web" "$nginx" -e "$work/nginx/error.log" -c "$work/nginx/conf" 2>>"$work/errors" &
	nginx_pid=$!
	for try in $(seq 100); do
		[ -z "$(ip netns exec "$web" ss -Hltn 'sport = :80')" ] || return 0
		sleep 0.05
	done
	add_why "nginx does not listen: $(tail -n 1 "$work/errors")"
}

# serve_app OPTIONS...: the backend, the old one gone
serve_app()
{
	end_one "$backend"
	start "$app" "$http" serve 10.77.2.2 8080 "$@"
	backend=$started
}

# look: what is found in our namespaces stands in $work/found, "id netns subject"
look()
{
	for try in 1 2 3; do
		run "$PERFBOX" triage --json 2 1
		grep -q '"id":"cpuwait.cpu-saturated"' "$out" || break
	done
	# then a worker that waits for a CPU looks like one that works, and who is slow is not the chain
	! grep -q '"id":"cpuwait.cpu-saturated"' "$out" || skip_all "something else on this machine takes its CPUs"
	grep '"table":"findings"' "$out" | grep -F "\"netns\":\"$base" >"$work/json"
	sed "s/.*\"id\":\"\([^\"]*\)\".*\"netns\":\"$base-\([^\"]*\)\",\"subject\":\"\([^\"]*\)\".*/\1 \2 \3/" \
		"$work/json" >"$work/found"
}

# found LINES: exactly these, in any order
found()
{
	printf '%s' "${1:+$1
}" | sort >"$work/wanted"
	sed 's|/[0-9][0-9]* *+*[0-9]*$||' "$work/found" | sort | diff "$work/wanted" -
}

# evidence ID NAME
evidence() { grep "\"id\":\"$1\"" "$work/json" | sed -n "s/.*\"$2\":\([0-9.]*\)[,}].*/\1/p"; }

between()
{
	awk -v low="$1" -v x="$2" -v high="$3" 'BEGIN { if (x == "" || x + 0 < low + 0 || x + 0 > high + 0) { print "\"" x "\" is not in " low " .. " high; exit 1 } }'
}

# to the backend: what nginx closed first on the users' side is a server's
time_waits() { ip netns exec "$web" ss -Htan state time-wait dst 10.77.2.2 | wc -l; }

begin "a backlog of 10: nginx's queue"
set_web net/ipv4/ip_local_port_range '40000 40049'
serve_app -w 5 -h 25
serve_web 10
start "$users" "$http" load 10.77.1.2 80 -c 32 -p 100
clients=$started
sleep 1
look
want_that "that alone" found "listenq.accept-overflow web 10.77.1.2:80 nginx"
want_that "limit 10" [ "$(evidence listenq.accept-overflow limit)" = 10 ]
# of 32 that come at once 11 fit, ten times a second; those that come again after 1 s mostly do, too
drops=$(evidence listenq.accept-overflow drops)
want_that "its drops" between 10 "$drops" 800
want_that "they are ListenOverflows" [ "$drops" = "$(evidence listenq.accept-overflow listen_overflows)" ]

begin "a backlog of 511: the backend's five workers"
serve_web 511
sleep 1
look
want_that "that alone" found "listenq.workers-busy app 10.77.2.2:8080 http"
want_that "five" [ "$(evidence listenq.workers-busy workers)" = 5 ]
want_that "each works 25 ms" between 25e6 "$(evidence listenq.workers-busy hold_ns)" $((32000000 * slack))

begin "sixty workers, which leave it to nginx to close: its 50 ports"
serve_app -w 60 -h 25 -k
sleep 1
look
want_that "those alone" found "portrange.exhausted web 10.77.2.1 -> 10.77.2.2:8080
portrange.time-wait web 10.77.2.1 -> 10.77.2.2:8080"
want_that "50 ports" [ "$(evidence portrange.exhausted usable)" = 50 ]
want_that "none free" [ "$(evidence portrange.exhausted free)" = 0 ]

begin "2,000 ports: TIME_WAIT fills them, too"
set_web net/ipv4/ip_local_port_range '30000 31999'
for try in $(seq 300); do
	[ "$(time_waits)" -lt 1400 ] || break
	sleep 0.1
done
look
# it may be full by now, or only soon
sed -i 's/^portrange.exhausted /portrange.soon /' "$work/found"
want_that "those alone" found "portrange.soon web 10.77.2.1 -> 10.77.2.2:8080
portrange.time-wait web 10.77.2.1 -> 10.77.2.2:8080"
want_that "2,000 ports" [ "$(evidence portrange.time-wait usable)" = 2000 ]
want_that "TIME_WAIT has them" between 1400 "$(evidence portrange.time-wait time_wait)" "$(time_waits)"

begin "TIME_WAIT reused: nothing is left to be found, and everybody is answered"
set_web net/ipv4/tcp_tw_reuse 1
sleep 1
look
want_that "nothing" found ''
end_one "$clients"
clients=
run ip netns exec "$users" "$http" load 10.77.1.2 80 -c 32 -p 100 -t 2
want_match out '^answered [0-9]{3} refused 0 gave-up 0$'

finish
