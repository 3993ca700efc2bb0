# Network namespaces made for real: named, held by a process alone, held by a descriptor alone, a container's by its
# cgroup. All are found and named, entered, and the program comes back; one that goes is no error.
. "$repo/tests/lib.sh"

look=$O/tests/unit/netns
[ "$(id -u)" = 0 ] || skip_all "needs root: it makes network namespaces"
[ -x "$look" ] || skip_all "$look is not built"
ip netns add "pbt-$$-a" 2>"$work/why" || skip_all "ip netns add: $(cat "$work/why")"
at_exit "ip netns del pbt-$$-a 2>/dev/null"

# field NAME N: of the line of the namespace that is called so
field()
{
	awk -F'\t' -v name="$1" -v n="$2" '$2 == name { print $n }' "$out"
}

inode_of()
{
	stat -L -c %i "$1"
}

ip netns exec "pbt-$$-a" ip link add pbtdummy type dummy 2>/dev/null || :
named=$(inode_of "/run/netns/pbt-$$-a")

unshare -n sleep 100 &
sleeper=$!
at_exit "kill $sleeper 2>/dev/null"

# In a namespace of its own the shell opens it; the next one goes back to ours and keeps the descriptor.
unshare -n sh -c 'exec 9</proc/self/ns/net; exec nsenter --net='"/proc/$$/ns/net"' sleep 100' &
holder=$!
at_exit "kill $holder 2>/dev/null"
for i in $(seq 50); do
	sleep 0.1
	[ "$(readlink /proc/$holder/ns/net)" = "$(readlink /proc/self/ns/net)" ] && break
done
anonymous=$(inode_of /proc/$sleeper/ns/net)
held=$(inode_of /proc/$holder/fd/9)
own=$(inode_of /proc/self/ns/net)

begin "all: the own one first, a named one, one of a process, one of a descriptor"
run "$look" list all
want_status 0
want_that "ours is first" [ "$(awk -F'\t' 'NR == 1 { print $1, $4 }' "$out")" = "$own own" ]
want_that "named" [ "$(field "pbt-$$-a" 1)" = "$named" ]
want_that "by its path" [ "$(field "pbt-$$-a" 3)" = "run/netns/pbt-$$-a" ]
want_that "a process's" grep -q "^$anonymous	.*	proc/$sleeper/ns/net	other	$sleeper	0	" "$out"

begin "one that only a descriptor holds"
want_that "found" grep -q "^$held	net:.$held.	proc/$holder/fd/9	other	0	0	" "$out"

begin "no namespace twice, no name twice"
want_that "inodes" [ -z "$(cut -f 1 "$out" | sort | uniq -d)" ]
want_that "names" [ -z "$(cut -f 2 "$out" | sort | uniq -d)" ]

begin "each was entered: its devices, not ours"
want_that "all" [ -z "$(awk -F'\t' '$6 != 0' "$out")" ]
if ip netns exec "pbt-$$-a" ip link show pbtdummy >/dev/null 2>&1; then
	want_that "the dummy is in one" [ "$(grep -c pbtdummy "$out")" = 1 ]
	want_that "in that one" grep -q "^$named	.*pbtdummy" "$out"
fi
want_that "an empty one has lo alone" [ "$(awk -F'\t' -v i="$anonymous" '$1 == i { print $7 }' "$out")" = "lo " ]

for word in "pbt-$$-a" "/run/netns/pbt-$$-a" "net:[$named]"; do
	begin "one by its name, path or number: $(echo "$word" | tr -d 0-9)"
	run "$look" list "$word"
	want_status 0
	want_lines out 1
	want_match out "^$named	pbt-$$-a	"
done

begin "one by a PID in it, and the own one by none"
run "$look" list $sleeper
want_match out "^$anonymous	"
want_lines out 1
run "$look" list
want_match out "^$own	.*	own	"
want_lines out 1

begin "none of that name"
run "$look" list "pbt-$$-b"
want_status 1
want_match out "pbt-$$-b: no network namespace has this name or process"

begin "started inside a named one, that is the own"
run ip netns exec "pbt-$$-a" "$look" list
want_match out "^$named	pbt-$$-a	proc/self/ns/net	own	"
run ip netns exec "pbt-$$-a" "$look" list all
want_that "first" [ "$(awk -F'\t' 'NR == 1 { print $1, $4 }' "$out")" = "$named own" ]
want_that "the host's, too" grep -q "^$own	" "$out"

begin "a name without its mount is no namespace"
: >"/run/netns/pbt-$$-stale"
run "$look" list all
rm -f "/run/netns/pbt-$$-stale"
want_unlike out "stale"

begin "saved and replayed it is the same, without going anywhere"
run "$look" list all "$work/saved"
cp "$out" "$work/live"
run "$look" replay all "$work/saved"
want_that "same lines" cmp "$out" "$work/live"
run "$look" replay "pbt-$$-a" "$work/saved"
want_lines out 1

begin "--redact: no name of one in tables, findings or remarks, also where it can't be entered"
cp "$PERFBOX" "$work/perfbox"
chmod 755 "$work" "$work/perfbox"
for applet in listenq portrange conntrack-top; do
	run "$PERFBOX" $applet -N all --redact -v --top 0 0.1 1
	# listenq leaves out those without listeners
	[ $applet = listenq ] || want_match out container
	want_unlike out "pbt-$$-a"
	want_unlike err "pbt-$$-a"
	command -v setpriv >/dev/null || continue
	run setpriv --reuid 65534 --regid 65534 --clear-groups "$work/perfbox" $applet -N all --redact -v 0.1 1
	want_status 3
	want_match err container-
	want_unlike err "pbt-$$-a"
done

begin "gone between being found and being entered: ESRCH, and still in the own one"
ip netns add "pbt-$$-c"
at_exit "ip netns del pbt-$$-c 2>/dev/null"
mkfifo "$work/go"
"$look" late "pbt-$$-c" <"$work/go" >"$work/late" &
late=$!
exec 8>"$work/go"
for i in $(seq 50); do
	[ -s "$work/late" ] && break
	sleep 0.1
done
ip netns del "pbt-$$-c"
echo >&8
exec 8>&-
wait $late
want_match "$work/late" "	pbt-$$-c	run/netns/pbt-$$-c	other	0	-3	/run/netns/pbt-$$-c: No such process"

begin "gone: no longer listed"
kill $sleeper
wait $sleeper 2>/dev/null
ip netns del "pbt-$$-a"
sleep 0.2
run "$look" list all
want_unlike out "^$anonymous	"
want_unlike out "^$named	"
finish
