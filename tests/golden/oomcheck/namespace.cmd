perfbox oomcheck --root @oom-namespace
