perfbox oomcheck --root @oom-killed --redact --table findings
