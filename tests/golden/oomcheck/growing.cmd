# /hog: 1 MiB/s; at 30 s 256 - 135 = 121 MiB are left: 121 s; at 35 s 116.
perfbox oomcheck --root @oom-growing --table findings --tsv
perfbox oomcheck --root @oom-growing --tsv --columns cgroup,growth_per_second,time_left_ns,unreclaimable_bytes | tail -6
