# scripts/tree: what is packed and unpacked is the same to the byte, and an archive can't write elsewhere.
. "$repo/tests/lib.sh"

tree=$repo/scripts/tree
if ! python3 -c '' 2>/dev/null; then
	skip_all 'no python3'
fi

# unpack_text TEXT DIR: TEXT as printf takes it
unpack_text()
{
	printf "$1" >"$work/text.tree"
	run "$tree" unpack "$work/text.tree" "$2"
}

same()
{
	(cd "$1" && find . -type f -exec sha256sum {} + -o -printf '%p %y %l\n' | sort) >"$work/same.1"
	(cd "$2" && find . -type f -exec sha256sum {} + -o -printf '%p %y %l\n' | sort) >"$work/same.2"
	cmp "$work/same.1" "$work/same.2"
}

begin 'hostile names and contents come back as they were'
mkdir -p "$work/a/proc/1/task" "$work/a/empty/inner"
tab=$(printf '\t') newline='
'
printf 'cpu 1\n' >"$work/a/proc/stat"
: >"$work/a/proc/nothing"
printf 'no newline' >"$work/a/proc/1/wchan"
printf 'a\0b\0' >"$work/a/proc/1/cmdline"
printf '#1 SMP\n== x\n\\y\n\\#z\n\n' >"$work/a/proc/version"
printf 'r\303\251sum\303\251\n' >"$work/a/utf8"
printf '\303\n' >"$work/a/bad-utf8"
printf 'cr\r\n' >"$work/a/cr"
head -c 100000 /dev/urandom >"$work/a/random"
for name in "new${newline}line" "tab${tab}" 'sp ace' 'back\slash' '\x41' '#hash' '==' "$(printf '\377\033')" hex link; do
	printf 'x\n' >"$work/a/$name"
done
ln -s '../#up and\away' "$work/a/link-up"
ln -s /nowhere "$work/a/proc/1/exe"
run "$tree" pack "$work/a" "$work/a.tree"
want_status 0
want_that 'text stays text' grep -qxF '\#1 SMP' "$work/a.tree"
want_that 'all ASCII but the contents' [ "$(grep -a '^== ' "$work/a.tree" | tr -d '\n -~' | wc -c)" -eq 0 ]
run "$tree" unpack "$work/a.tree" "$work/b"
want_status 0
want_that 'the folders are the same' same "$work/a" "$work/b"
run "$tree" pack "$work/b"
want_that 'so are the archives' cmp "$out" "$work/a.tree"

begin 'remarks are passed over'
unpack_text '# one\n== a\n# two\nx\n' "$work/remarks"
want_status 0
want_that 'only the content is left' [ "$(cat "$work/remarks/a")" = x ]

for path in /etc/x ../x a/../../x . a//b ./a '..' 'a/..' '\\x2e\\x2e/x' ''; do
	begin "the path '$path' is refused"
	unpack_text "== $path\nx\n" "$work/in/refused"
	want_status 1
	want_match err 'line 1'
	want_that 'nothing is left' [ -z "$(find "$work/in" ! -type d)" ]
	rm -rf "$work/in"
done

begin 'nothing is written through a link'
unpack_text "== l link\n$work/elsewhere\n== l/x\nx\n" "$work/through"
want_status 1
mkdir "$work/elsewhere"
unpack_text "== l link\n$work/elsewhere\n== l/x link\ny\n" "$work/through2"
want_status 1
want_match err 'below a link'
want_that 'elsewhere is empty' [ -z "$(ls "$work/elsewhere")" ]

begin 'an archive that is cut or garbled is refused'
unpack_text '== a\nx' "$work/g1"
want_match err 'cut short'
unpack_text '== a hex\n6\n' "$work/g2"
want_match err 'line 1: a: not hex'
unpack_text '== a zip\n' "$work/g3"
want_match err 'line 1'
unpack_text 'x\n' "$work/g4"
want_match err 'content before'
unpack_text '== a\n== a\n' "$work/g5"
want_match err 'line 2: a: File exists'
unpack_text '== a\\q\n' "$work/g6"
want_match err 'backslash'
unpack_text '== a\\x00\n' "$work/g7"
want_match err 'zero byte'

begin 'a folder with something in it is left alone'
mkdir "$work/full"
: >"$work/full/x"
unpack_text '== a\nx\n' "$work/full"
want_status 1
want_match err 'not empty'

begin 'a pipe is not packed'
mkfifo "$work/full/pipe"
run "$tree" pack "$work/full"
want_status 1
want_match err 'neither file'

finish
