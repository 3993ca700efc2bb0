perfbox oomcheck --root @oom-counted --redact --table findings
