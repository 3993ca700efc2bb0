perfbox oomcheck --root @oom-nested
