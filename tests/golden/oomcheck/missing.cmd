perfbox oomcheck --root @oom-missing
perfbox oomcheck --root @oom-missing --redact -q --table findings
