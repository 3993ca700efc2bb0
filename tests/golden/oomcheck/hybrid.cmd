perfbox oomcheck --root @oom-hybrid
