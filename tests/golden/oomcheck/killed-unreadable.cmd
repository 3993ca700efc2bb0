# Without the log: nothing is missing where the host counts no kill since boot; where it counts some, or does not count, it
# can't be told whether they were in the last 24 h: 3. What a group counts in the interval is found without a name.
for kills in 0 2 unknown; do
	cp -r @oom-killed "$TMPDIR/$kills"
	for frame in 000000 000001 000002; do
		rm "$TMPDIR/$kills/$frame/dev/kmsg"
		printf 'error\tdev/kmsg\tEPERM\n' >>"$TMPDIR/$kills/$frame/manifest"
		sed -i "s/^oom_kill .*/oom_kill $kills/" "$TMPDIR/$kills/$frame/proc/vmstat"
	done
	perfbox oomcheck --root "$TMPDIR/$kills" -G /calm --tsv --table findings | cut -f 1-5
	perfbox oomcheck --root "$TMPDIR/$kills" -G /calm --tsv --table findings >"$TMPDIR/out"
	echo "status $?"
done
perfbox oomcheck --root "$TMPDIR/2" --tsv --table findings | cut -f 1-7
