# Sourced by tests/live/listenq*.sh behind lib.sh: listeners and clients in network namespaces of the test's own.
# All of it is gone when the script ends, however it ends.
#
#	serve ADDR PORT OPTIONS...         in a new namespace; the process is $server, and -N $server the namespace
#	serve_beside ADDR PORT OPTIONS...  in the namespace of $server; the process is $beside
#	client ADDR PORT OPTIONS...        in it, too; goes on in the background
#	end_clients, end_servers
#	measure OPTIONS...                 listenq -N $server, saved; then the functions below ask that run
#	ask TABLE COLUMNS                  its rows, without time
#	found                              "id subject" lines of its findings, sorted
#	evidence ID NAME                   a number of the finding of that id
#	only_found "ID SUBJECT"...         these findings and no others
#	counter PID GROUP NAME             of that process's namespace, read by hand
#
# $slack widens tolerances where time itself is slow (emulated machines): LIVE_SLACK.

tcp=$O/tests/live/tcp
slack=${LIVE_SLACK:-1}
servers='' clients='' runs=0 server='' beside='' saved=''

[ "$(id -u)" = 0 ] || skip_all "needs root: it makes network namespaces"
[ -x "$tcp" ] || skip_all "$tcp is not built"
at_exit 'end_clients; end_servers'

# end PIDS
end_all()
{
	for pid in $1; do
		kill "$pid" 2>/dev/null
	done
	for pid in $1; do
		wait "$pid" 2>/dev/null
	done
}

end_clients()
{
	end_all "$clients"
	clients=
}

end_servers()
{
	end_all "$servers"
	servers='' server=''
}

# start FILE COMMAND...: in the background, until it says that it is ready; its process is $started
start()
{
	said=$1
	shift
	: >"$said"
	"$@" >"$said" 2>"$said.err" &
	started=$!
	for try in $(seq 100); do
		! grep -q ready "$said" || return 0
		kill -0 $started 2>/dev/null || break
		sleep 0.05
	done
	add_why "not ready: $* $(head -n 1 "$said.err")"
}

serve()
{
	start "$work/server" "$tcp" listen "$@" -N new
	server=$started
	servers="$servers $started"
	if grep -q 'unshare: ' "$work/server.err"; then
		skip_all "no network namespace: $(head -n 1 "$work/server.err")"
	fi
}

serve_beside()
{
	start "$work/beside" "$tcp" listen "$@" -N "$server"
	beside=$started
	servers="$servers $started"
}

client()
{
	"$tcp" connect "$@" -N "$server" >>"$work/clients" 2>&1 &
	clients="$clients $!"
}

measure()
{
	runs=$((runs + 1))
	saved=$work/run$runs
	run "$PERFBOX" listenq -N "$server" --save "$saved" "$@"
	live_status=$status
}

# $selection: options that the replay needs, too
selection=
ask()
{
	"$PERFBOX" listenq -N "$server" --root "$saved" $selection --tsv --no-header --table "$1" --columns "$2" 2>/dev/null | cut -f 2-
}

found()
{
	"$PERFBOX" listenq -N "$server" --root "$saved" $selection --tsv --no-header --table findings 2>/dev/null |
		awk -F'\t' '{ print $2 " " $5 }' | sort
}

evidence()
{
	"$PERFBOX" listenq -N "$server" --root "$saved" $selection --json --table findings 2>/dev/null |
		sed -n "s/.*\"id\":\"$1\".*[{,]\"$2\":\([0-9.]*\)[,}].*/\1/p" | head -n 1
}

only_found()
{
	for wanted in "$@"; do
		echo "$wanted"
	done | sort >"$work/wanted"
	found >"$work/found"
	diff "$work/wanted" "$work/found"
}

counter()
{
	awk -v group="$2:" -v name="$3" '$1 == group && !n { n = split($0, names); next }
		$1 == group { for (i = 2; i <= n; i++) if (names[i] == name) print $i; n = 0 }' "/proc/$1/net/netstat" "/proc/$1/net/snmp" | head -n 1
}

# between LOW X HIGH, also for fractions
between()
{
	awk -v low="$1" -v x="$2" -v high="$3" 'BEGIN { if (x == "" || x + 0 < low + 0 || x + 0 > high + 0) { print "\"" x "\" is not in " low " .. " high; exit 1 } }'
}
