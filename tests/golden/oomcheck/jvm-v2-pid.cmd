# Asked for two: their sums are told, others are looked at only for who is next.
perfbox oomcheck -p 102,111 --root @oom-jvm-v2
