# With environments: 103 has none that matters, so it does take the host's quarter; 109 is told 200M and fits; 120 is a
# Node that does not know cgroup v2, 123 was told 256M, 124 may fill all of its 600M.
perfbox oomcheck --environ --top 0 --root @oom-jvm-v2
