# Flame graphs in a real browser, from files: see flamegraph.py.
. "$repo/tests/lib.sh"

begin "what is needed to run"
command -v python3 >/dev/null || skip_all "no python3"
for program in chromium chromedriver; do
	command -v $program >/dev/null || skip_all "no $program (Debian packages chromium and chromium-driver)"
done
want_that "the drawing program is built" [ -x "$O/tests/helper/flamegraph" ]
python3 -B "$repo/tests/browser/flamegraph.py" "$O/tests/helper/flamegraph" "$work" ||
	add_why "flamegraph.py ended with status $?"
finish
