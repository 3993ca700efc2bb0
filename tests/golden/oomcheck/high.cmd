perfbox oomcheck --root @oom-high
