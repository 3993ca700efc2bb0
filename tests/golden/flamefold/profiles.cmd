# pprof and speedscope, read again by ourselves: the same stacks.
cd "$tests/fixtures/stacks"
perfbox flamefold --speedscope hostile.folded | sed 's/"exporter":"perfbox [0-9.]*"/"exporter":"perfbox"/'
for f in before.folded recursion.folded; do
	perfbox flamefold $f >"$TMPDIR/plain"
	perfbox flamefold --pprof $f | perfbox flamefold -q | cmp - "$TMPDIR/plain" && echo "pprof $f: the same"
	perfbox flamefold --speedscope $f | perfbox flamefold -q | cmp - "$TMPDIR/plain" && echo "speedscope $f: the same"
done
perfbox flamefold --pprof shop.perf -q | perfbox flamefold -v
perfbox flamefold --speedscope shop.perf -q | grep -o '"unit":"[a-z]*"'
