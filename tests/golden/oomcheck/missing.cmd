perfbox oomcheck --root @oom-missing
