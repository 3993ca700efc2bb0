# The first report has what is past (java; /old is history) and redis, now; the second the two of /grp, each once, and
# nothing of before. memory.events counts three there: the first twice.
perfbox oomcheck --root @oom-killed --table kills --columns killed_at,pid,comm,cgroup,cause,limited_by
perfbox oomcheck --root @oom-killed --tsv --table findings
perfbox oomcheck --root @oom-killed -G /pod1 --tsv --table findings | cut -f 1-5
perfbox oomcheck --root @oom-killed --past | grep history
