perfbox oomcheck --root @oom-lxcfs
