# What the pictures hold is tested in unit/flamegraph and in a browser; here that options reach them.
cd "$tests/fixtures/stacks"
titles() { perfbox flamefold --svg "$@" | grep -o '<title>[^<]*' | sed 's/<title>//' | sort | sed 8q; }
titles before.folded
titles --title 'My <b> & title' --unit ms before.folded
titles hostile.folded
perfbox flamefold --svg --icicle --width 800 --subtitle sub --palette mem before.folded | grep -c -e 'sub' -e 'width="800'
perfbox flamefold --svg --min-width 200 -v before.folded >/dev/null
perfbox flamefold --diff --svg before.folded after.folded | grep -c '<title>'
perfbox flamefold --diff --svg --negate before.folded after.folded | grep -c '<title>'
perfbox flamefold --diff --svg --hot-cold before.folded after.folded | grep -c '<title>'
perfbox flamefold --icicle before.folded
echo "status $?"
perfbox flamefold --svg --width wide before.folded
echo "status $?"
perfbox flamefold --svg --palette pink before.folded
echo "status $?"
