# perfbox --install: links, all of them or none.
. "$repo/tests/lib.sh"

"$PERFBOX" --list | awk '{ print $1 }' | sort >"$work/applets"
mkdir "$work/box"
cp "$PERFBOX" "$work/box/perfbox"
box=$work/box/perfbox

begin "hard links, one for each applet, each named"
mkdir "$work/hard"
run "$box" --install "$work/hard"
want_status 0
want_that "all applets, nothing else" sh -c "ls '$work/hard' | sort | cmp - '$work/applets'"
for applet in $(cat "$work/applets"); do
	want_that "$applet is the same file" [ "$work/hard/$applet" -ef "$box" ]
	want_match out "$applet"
done
want_that "they work" sh -c "'$work/hard/cpuwait' -q --root '$trees/idle-v2' | grep -q cron"

begin "a second time is fine, and makes nothing"
before=$(stat -c '%i %Y' "$work/hard"/*)
run "$box" --install "$work/hard"
want_status 0
want_that "nothing changed" [ "$before" = "$(stat -c '%i %Y' "$work/hard"/*)" ]

begin "-s: symbolic links, twice"
mkdir "$work/soft"
run "$box" --install -s "$work/soft"
want_status 0
for applet in $(cat "$work/applets"); do
	want_that "$applet" [ -L "$work/soft/$applet" ]
	want_that "$applet leads to the program" [ "$work/soft/$applet" -ef "$box" ]
done
run "$box" --install -s "$work/soft"
want_status 0
run "$box" --install "$work/soft"
want_status 0

begin "a file that is something else: refused by name, nothing made"
mkdir "$work/conflict"
echo precious >"$work/conflict/cpuwait"
for s in '' -s; do
	run "$box" --install $s "$work/conflict"
	want_status 3
	want_lines err 1
	want_match err 'conflict/cpuwait'
	want_that "nothing else is there" [ "$(ls "$work/conflict")" = cpuwait ]
	want_that "it is untouched" [ "$(cat "$work/conflict/cpuwait")" = precious ]
done
rm "$work/conflict/cpuwait"
mkdir "$work/conflict/triage"
run "$box" --install "$work/conflict"
want_status 3
want_that "nothing else is there" [ "$(ls "$work/conflict")" = triage ]
rmdir "$work/conflict/triage"
ln -s /nowhere "$work/conflict/triage"
run "$box" --install "$work/conflict"
want_status 3
want_that "nothing else is there" [ "$(ls "$work/conflict")" = triage ]

begin "no such folder, no folder, none named, two named"
run "$box" --install "$work/none"
want_status 3
want_lines err 1
run "$box" --install "$box"
want_status 3
want_lines err 1
run "$box" --install
want_status 2
run "$box" --install "$work/hard" "$work/soft"
want_status 2
run "$box" --install -x "$work/hard"
want_status 2

begin "a folder that may not be written: 3, nothing half-made"
if [ "$(id -u)" != 0 ]; then
	mkdir -m 555 "$work/locked"
	run "$box" --install "$work/locked"
	want_status 3
	want_that "it is empty" [ -z "$(ls "$work/locked")" ]
else
	run "$box" --install /proc/self
	want_status 3
	want_lines err 1
fi

begin "make install with DESTDIR, uninstall takes away what it brought"
if command -v make >/dev/null && [ "$PERFBOX" = "$O/perfbox" ]; then
	run make -s -C "$repo" O="$O" SAN="${SAN:-}" CC="${CC:-gcc}" BPF="${BPF:-1}" install DESTDIR="$work/dest" PREFIX=/opt
	want_status 0
	want_that "the program" [ -x "$work/dest/opt/bin/perfbox" ]
	for applet in $(cat "$work/applets"); do
		want_that "$applet" [ "$work/dest/opt/bin/$applet" -ef "$work/dest/opt/bin/perfbox" ]
		want_that "$applet is a relative link: it survives a move" [ "$(readlink "$work/dest/opt/bin/$applet")" = perfbox ]
		want_that "manual of $applet" [ -s "$work/dest/opt/share/man/man8/$applet.8" ]
	done
	want_that "the same program" cmp "$PERFBOX" "$work/dest/opt/bin/perfbox"
	: >"$work/dest/opt/bin/other"
	run make -s -C "$repo" O="$O" SAN="${SAN:-}" CC="${CC:-gcc}" BPF="${BPF:-1}" uninstall DESTDIR="$work/dest" PREFIX=/opt
	want_status 0
	want_that "only the other is left: $(find "$work/dest" ! -type d)" [ "$(find "$work/dest" ! -type d)" = "$work/dest/opt/bin/other" ]
else
	skip_test "no make, or another program than make's is tested"
fi

finish
