# perfbox --man: the pages inside the program, without man or groff.
. "$repo/tests/lib.sh"

export PAGER='' MANWIDTH=80

begin "every applet and perfbox itself have a page with the usual sections"
for page in perfbox $("$PERFBOX" --list | awk '{ print $1 }'); do
	run "$PERFBOX" --man "$page"
	want_status 0
	want_empty err
	for section in NAME SYNOPSIS DESCRIPTION OPTIONS 'EXIT STATUS'; do
		want_match out "^$section\$"
	done
	want_match out "^ +$page - "
	want_unlike out '^ *\.(SH|TP|B|I|PP)'
	want_unlike out '\\f[BIRP]|\\-|\\\('
done

begin "without a name it is perfbox's own"
run "$PERFBOX" --man
want_status 0
want_match out '^ +perfbox - '

begin "a page that does not exist: 2 and the closest one"
run "$PERFBOX" --man cpuwiat
want_status 2
want_empty out
want_lines err 1
want_match err "did you mean 'cpuwait'"

begin "piped it is plain text of at most 100 columns"
run "$PERFBOX" --man cpuwait
want_unlike out "$(printf '\033')"
want_unlike out "$(printf '\010')"
want_that "no line is longer" awk 'length > 100 { print; exit 1 }' "$out"

begin "every option and every column of --help is in the page"
for applet in $("$PERFBOX" --list | awk '{ print $1 }'); do
	"$PERFBOX" --man "$applet" >"$work/page" 2>"$err"
	"$PERFBOX" "$applet" --help >"$work/help"
	for option in $(sed -n '/^Options:/,/^[A-Z].*share/p' "$work/help" | grep -Eo -- '--[a-z][a-z-]*' | sort -u); do
		want_match "$work/page" "$option([^a-z-]|\$)"
	done
	for column in $(sed -n '/^Columns/,/^Findings/p' "$work/help" | awk '/^  [a-z_]+  / { print $1 }' | sort -u); do
		want_match "$work/page" "$column"
	done
	for finding in $(grep -Eo "^  $applet\.[a-z-]+" "$work/help"); do
		want_match "$work/page" "$finding"
	done
done

begin "\$PAGER is used on a terminal, and none is needed"
if command -v script >/dev/null; then
	run env PAGER='sed s/^/paged:/' script -qec "$PERFBOX --man cpuwait" /dev/null
	want_match out '^paged:NAME|^paged:.*NAME'
	run env PATH=/nowhere PAGER= "$(command -v script)" -qec "$PERFBOX --man cpuwait" /dev/null
	want_match out 'NAME'
else
	skip_test "no script(1)"
fi

finish
