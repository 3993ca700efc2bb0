perfbox oomcheck --root @oom-host
