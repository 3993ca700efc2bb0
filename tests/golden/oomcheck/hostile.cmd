perfbox oomcheck --root @oom-hostile
perfbox oomcheck --root @oom-hostile --json --table findings
perfbox oomcheck --root @oom-hostile --tsv --columns cgroup,limit_bytes
