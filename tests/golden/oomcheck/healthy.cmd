perfbox oomcheck --root @oom-healthy --top 5
