perfbox oomcheck -p 999 --root @oom-jvm-v2
