# The reference case (101: 8u181 takes a quarter of the host's 8G = 2G for its heap, below 512M) and its follow-up
# (106: -Xmx512m below 512M), a measured one (111: 200M anonymous - 59M of them heap = 141M besides), a limit that only
# the parent has (112), options from a file (110), Node (122). Innocent: who sees the limit, whose environment nobody
# read (103, 109, 123), shares of the limit (108).
perfbox oomcheck --root @oom-jvm-v2
