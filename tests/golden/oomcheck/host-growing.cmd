# 2048 - 6 x 100 = 1,448 MiB at 20 MiB/s are 72 s; the next look 1,348: 67 s.
perfbox oomcheck --root @oom-host-growing -q
