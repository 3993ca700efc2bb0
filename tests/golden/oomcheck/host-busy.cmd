perfbox oomcheck --root @oom-host-busy
