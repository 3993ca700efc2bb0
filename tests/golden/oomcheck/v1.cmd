# /hot: 480 of 512 MiB are 93.8 %. /outside: what its hidden ancestor uses is not known, so what is left is not, too.
perfbox oomcheck --root @oom-v1
