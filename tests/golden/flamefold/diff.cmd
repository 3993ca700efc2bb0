# BEFORE 100, AFTER 200: render had 40 % with draw and has 40 % with paint; scan 20 % -> 40 %.
cd "$tests/fixtures/stacks"
perfbox flamefold --diff before.folded after.folded
perfbox flamefold --diff --functions before.folded after.folded
perfbox flamefold --diff --tsv --table stacks before.folded after.folded | cut -f 2-
perfbox flamefold --diff before.folded after.folded --include scan
cat after.folded | perfbox flamefold --diff before.folded -
# a recording and text have other units, and that is said
perfbox flamefold --diff shop.perf before.folded >/dev/null
echo "status $?"
perfbox flamefold --diff before.folded
echo "status $?"
perfbox flamefold --diff --pprof before.folded after.folded
echo "status $?"
