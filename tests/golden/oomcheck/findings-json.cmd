perfbox oomcheck --root @oom-findings --json --table findings
