# Owners of sockets seen from elsewhere: inside a pid namespace, where processes have other numbers; inside a network
# namespace; and without privileges. The unit test asks both engines for sockets of its own and of a child.
. "$repo/tests/lib.sh"

unit=$O/tests/unit/sockowner
[ "$(id -u)" = 0 ] || skip_all "needs root: it makes namespaces"
[ -x "$unit" ] || skip_all "$unit is not built"

# passes COMMAND...: all checks were made and held; the iterator may be refused, with a reason
passes()
{
	run "$@"
	want_status 0
	want_match out "^ok sockowner [1-9]"
}

begin "on the host"
passes "$unit"
iterator=$(grep '^skip iterator' "$out")

begin "in a pid namespace with its own proc"
passes unshare --pid --fork --mount-proc "$unit"
[ -n "$iterator" ] || want_unlike out '^skip iterator'

begin "in a network namespace"
passes unshare --net "$unit"

begin "without privileges: from proc, and why not by the iterator"
if command -v setpriv >/dev/null; then
	mkdir -m 777 "$work/open"
	chmod 711 "$work"
	cp "$unit" "$work/open/sockowner"
	passes env TMPDIR="$work/open" setpriv --reuid 65534 --regid 65534 --clear-groups "$work/open/sockowner"
	want_match out '^skip iterator: .*(ermi|enied|BPF)'
else
	skip_test "no setpriv"
fi
finish
