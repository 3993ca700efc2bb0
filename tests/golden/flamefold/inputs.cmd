# What is skipped, unknown or empty is said, with status 3.
cd "$tests/fixtures/stacks"
for f in holes.folded diary.txt empty.txt ../perf/nosuch; do
	perfbox flamefold $f
	echo "status $?"
done
perfbox flamefold before.folded diary.txt
echo "status $?"
# recordings: what is folded is the samples' period, whatever this machine knows of their symbols
cd ../perf
for f in fp.data pipe.data several.data threads.data dwarf.data; do
	perfbox flamefold -q $f 2>/dev/null | awk -v f=$f '{ n += $NF; sub(/;.*/, ""); roots[$0] = 1 } END { for (r in roots) s = s " " r; print f, n, length(roots) }'
	[ -d $f ] || perfbox flamefold -q <$f 2>/dev/null | awk '{ n += $NF } END { print n }'
done
gzip -c fp.data | perfbox flamefold -q --weight samples 2>/dev/null | awk '{ n += $NF } END { print n }'
head -c 6000 fp.data | perfbox flamefold -q >/dev/null 2>&1
echo "status $?"
# a folder without its first part, and one that is no recording
dir=$(mktemp -d)
cp -r threads.data "$dir/part" && rm "$dir/part/data.0"
perfbox flamefold "$dir/part" 2>&1 >/dev/null | sed "s|$dir|DIR|" | grep missing
perfbox flamefold "$dir" 2>&1 | sed "s|$dir|DIR|"
rm -r "$dir"
