perfbox oomcheck --root @oom-v1 --tsv
