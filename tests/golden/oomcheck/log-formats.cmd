# The same log of 6.12 as different programs hand it on. Where lines have a date the first kill is 24 h and 10 s old: a row;
# the others are findings of state past.
for log in dmesg dmesg-r dmesg-x dmesg-caller dmesg-t dmesg-iso journal journal-precise journal-iso journal-monotonic syslog syslog-iso rfc5424 busybox bare; do
	echo "== $log"
	perfbox oomcheck --root @oom --log @oom/$log.log --tsv --no-header --columns killed_at,boot_ns,pid,comm,cgroup,cause,limited_by,usage_bytes,anon_ratio,invoker_pid
	perfbox oomcheck --root @oom --log @oom/$log.log --tsv --no-header --table findings >"$TMPDIR/findings"
	echo "status $?"
	cut -f 2-5 "$TMPDIR/findings"
done
