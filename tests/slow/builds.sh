# Builds, each from a clean copy of the tree: same bytes in two folders; no warning from gcc, clang and the linker;
# without BPF; from a folder with a blank in its name and a relative O.
. "$repo/tests/lib.sh"

[ -f "$repo/Makefile" ] && command -v make >/dev/null || skip_all "no make here"
jobs=$(nproc)

copy()
{
	mkdir -p "$1"
	(cd "$repo" && tar cf - --exclude='./build*' --exclude=./.git .) | (cd "$1" && tar xf -)
}

# As from a shell: nothing of how this test was started.
plain_make()
{
	env -u MAKEFLAGS -u MAKELEVEL -u O -u CC -u SAN -u BPF make "$@"
}

# build FOLDER ARGUMENTS...: quietly; stderr must stay empty
build()
{
	folder=$1
	shift
	run plain_make -j"$jobs" -C "$folder" "$@"
	want_status 0
	want_empty err
}

begin "gcc: no warning; two folders, two times, different depth: the same bytes"
copy "$work/one"
copy "$work/a/much/longer/name/for/two"
build "$work/one" CC=gcc WERROR=1
sleep 1.1
build "$work/a/much/longer/name/for/two" CC=gcc WERROR=1 O=out/here
want_that "same program" cmp "$work/one/build/perfbox" "$work/a/much/longer/name/for/two/out/here/perfbox"

begin "it is static, stripped and at most 4 MiB"
run file -b "$work/one/build/perfbox"
if [ "$status" = 0 ]; then
	want_match out 'statically linked'
	want_match out ', stripped'
fi
want_that "size" [ "$(stat -c %s "$work/one/build/perfbox")" -le 4194304 ]
want_that "no path of where it was built" sh -c "! grep -aqF '$work' '$work/one/build/perfbox'"

begin "made again, nothing is done"
run plain_make -C "$work/one" CC=gcc WERROR=1
want_status 0
want_unlike out 'CC|LINK|BPF|STRIP'

begin "another O in the same tree leaves the first alone"
cp "$work/one/build/perfbox" "$work/first"
build "$work/one" CC=gcc BPF=0 O="$work/without"
want_that "untouched" cmp "$work/first" "$work/one/build/perfbox"

begin "BPF=0: it says so where BPF is asked for"
run "$work/without/perfbox" cpuwait --exact 0.1 1
want_status 3
want_lines err 1
want_match err 'built without BPF'

begin "make clean leaves the tree as it was"
run plain_make -s -C "$work/one" clean
want_status 0
want_that "no build folder" [ ! -e "$work/one/build" ]
want_that "same files" diff -r -q --exclude=out "$work/one" "$work/a/much/longer/name/for/two"

begin "clang: no warning"
if command -v clang >/dev/null; then
	build "$work/one" CC=clang WERROR=1
	run "$work/one/build/perfbox" --version
	want_status 0
else
	skip_test "no clang"
fi

finish
