# Names of what runs here: of C++ with the stack's call frame information, of inlined functions, of a JIT's code, in
# a pid and mount namespace of its own too. perf's names of the same recordings are what they are compared with.
. "$repo/tests/lib.sh"

command -v perf >/dev/null 2>&1 || skip_all "there is no perf"
command -v g++ >/dev/null 2>&1 || skip_all "there is no g++"
perf record -q -N -e cpu-clock -o "$work/try.data" true >/dev/null 2>&1 || skip_all "perf cannot record cpu-clock here"
jit=$O/tests/live/jit
# without the copies in ~/.debug that perf otherwise keeps, and we find
record()
{
	perf record -q -N -F 997 -e cpu-clock "$@"
}

cat >"$work/tree.cc" <<'END'
#include <cmath>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <time.h>

volatile double sink;

namespace shape {
template <int depth> struct Tower {
	static __attribute__((noinline)) double climb(double x)
	{
		double y = Tower<depth - 1>::climb(x + depth);
		sink = y;
		return y * 1.5;
	}
};
template <> struct Tower<0> {
	static __attribute__((noinline)) double climb(double x)
	{
		for (int i = 0; i < 20000; i++)
			x = x * 0.5 + i;
		return x;
	}
};
}

static inline __attribute__((always_inline)) double innermost(double x)
{
	for (int i = 0; i < 20000; i++)
		x = x * 0.5 + i;
	return x;
}

static inline __attribute__((always_inline)) double between(double x)
{
	return innermost(x) + 1;
}

__attribute__((noinline)) double around(double x)
{
	return between(x) * 2;
}

static int compare(const void *, const void *)
{
	sink = shape::Tower<3>::climb(1);
	return sink > 0;
}

int main()
{
	std::function<double(double)> boxed = [](double x) { return shape::Tower<12>::climb(x); };
	int list[4] = { 3, 1, 2, 0 };
	clock_t end = clock() + CLOCKS_PER_SEC / 2;

	while (clock() < end) {
		sink = boxed(1);
		sink = around(2);
		qsort(list, 4, sizeof(*list), compare);
	}
}
END
# without frame pointers only call frame information leads from one to the next
g++ -O2 -g -fomit-frame-pointer -Wl,--build-id -o "$work/tree" "$work/tree.cc" || skip_all "g++ cannot build a program"

# What perf says: names, root first, one line a stack, from main on; counted.
names_of_perf()
{
	perf script --no-inline -F ip,sym -i "$1" 2>/dev/null | awk '
		/^[ \t]*[0-9a-f]+ / { sub(/^[ \t]*[0-9a-f]+ /, ""); stack = ";" $0 stack; next }
		{ if (stack) print stack; stack = "" }
		END { if (stack) print stack }' | from_main | sort | uniq -c | awk '{ n = $1; $1 = ""; print substr($0, 2), n }'
}

# Kernel frames are perf's business, and aliases of theirs are chosen in other ways: only stacks that end in ours.
from_main()
{
	sed -n -E 's/^.*;main;/main;/; /^main;/p' | grep -E '(climb|around)( [0-9]+)?$'
}

begin "C++ without frame pointers: the stacks that perf unwinds"
record --call-graph dwarf -o "$work/dwarf.data" "$work/tree" >/dev/null 2>&1
run "$PERFBOX" flamefold --weight samples --by none "$work/dwarf.data"
want_status 0
names_of_perf "$work/dwarf.data" >"$work/theirs"
from_main <"$out" | LC_ALL=C sort >"$work/ours"
LC_ALL=C sort -o "$work/theirs" "$work/theirs"
want_that "perf has stacks" [ -s "$work/theirs" ]
want_that "the same stacks as often" diff "$work/theirs" "$work/ours"
want_match out 'main;shape::Tower<12>::climb;(shape::Tower<[0-9]+>::climb;){11}shape::Tower<0>::climb '
want_match out 'main;.*qsort.*;compare;shape::Tower<3>::climb'
want_unlike out ';around;(between|innermost)'

begin "inlined functions have frames"
run "$PERFBOX" flamefold --inline --by none "$work/dwarf.data"
want_status 0
want_match out ';around;between_\[i\];innermost_\[i\] '
run "$PERFBOX" flamefold --inline --context --by none "$work/dwarf.data"
want_match out ';around;between:tree.cc:[0-9]+_\[i\];innermost:tree.cc:3[0-9]_\[i\] '

begin "another build in the same place gives no names"
record -g -o "$work/other.data" "$work/tree" >/dev/null 2>&1
cp "$work/tree" "$work/kept"
sed 's/20000/20001/' "$work/tree.cc" >"$work/tree2.cc"
g++ -O2 -g -Wl,--build-id -o "$work/tree" "$work/tree2.cc"
run "$PERFBOX" flamefold --by none "$work/other.data"
want_match out '\[tree\+0x'
want_unlike out 'climb|around|;main;'
want_match err 'tree: .*another build'
echo "$work/kept" >"$work/list"
run "$PERFBOX" flamefold --by none --buildids "$work/list" "$work/other.data"
want_match out 'climb'

begin "so does another file, where there is no build id"
g++ -O2 -g -Wl,--build-id=none -o "$work/tree" "$work/tree.cc"
record -g -o "$work/no-id.data" "$work/tree" >/dev/null 2>&1
run "$PERFBOX" flamefold --by none "$work/no-id.data"
want_match out 'climb'
mv "$work/tree" "$work/moved"
cp "$work/kept" "$work/tree"
run "$PERFBOX" flamefold --by none "$work/no-id.data"
want_unlike out 'climb|around|;main;'
want_match err 'tree: .*another build'

begin "a JIT's functions, by the map it wrote"
"$jit" 0.1 nomap
if [ $? = 77 ]; then
	skip_test "no JIT for this machine"
else
	record -g -o "$work/jit.data" "$jit" 0.4 >/dev/null 2>&1
	run "$PERFBOX" flamefold "$work/jit.data"
	want_match out 'jit::caller /app.js:1;jit::callee with '
	want_unlike out 'stale::name'
	run "$PERFBOX" flamefold --jit "$work/jit.data"
	want_match out 'jit::callee with_\[j\] '
	record --call-graph dwarf -o "$work/jit.data" "$jit" 0.4 >/dev/null 2>&1
	run "$PERFBOX" flamefold "$work/jit.data"
	want_match out 'main;jit::caller /app.js:1;jit::callee with '

	begin "a JIT's map that is missing, or somebody else's, is asked for"
	record -g -o "$work/jit.data" "$jit" 0.4 nomap >/dev/null 2>&1
	run "$PERFBOX" flamefold "$work/jit.data"
	want_match err 'jit [0-9]+: [0-9]+ addresses in memory without a file, and no perf map'
	if [ "$(id -u)" = 0 ]; then
		record -g -o "$work/jit.data" "$jit" 0.4 65534 >/dev/null 2>&1
		run "$PERFBOX" flamefold "$work/jit.data"
		want_unlike out 'jit::'
		want_match err 'perf-[0-9]+.map not used: it belongs to user 65534'
	fi

	begin "a JIT in a container: its own pid, its own /tmp"
	if [ "$(id -u)" != 0 ] || ! unshare --pid --mount --fork true 2>/dev/null; then
		skip_test "no pid and mount namespaces"
	else
		# not below /tmp, which the container does not see
		cp "$jit" /dev/shm/perfbox-jit
		unshare --pid --mount --fork --kill-child sh -c \
			"mount -t tmpfs none /tmp && exec /dev/shm/perfbox-jit 60" &
		container=$!
		at_exit "kill $container 2>/dev/null; rm -f /dev/shm/perfbox-jit"
		sleep 0.5
		record -g -o "$work/jit.data" -p "$(pgrep -P $container)" \
			sleep 0.4 >/dev/null 2>&1
		run "$PERFBOX" flamefold "$work/jit.data"
		want_match out 'jit::caller /app.js:1;jit::callee with '
		kill $container
	fi
fi
finish
