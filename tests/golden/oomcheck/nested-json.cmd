perfbox oomcheck --root @oom-nested --json
