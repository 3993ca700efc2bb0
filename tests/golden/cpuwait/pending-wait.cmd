# 5001 waits all the time: 100 % at each of five looks, though schedstat moves 2.08 s, 0, 2.08 s, 0, 2.08 s.
# 5002: 0 at first (no row), 100 % at the second (runnable all of it), then 1.3 s - 1 s already shown = 30 %, then 0.
perfbox cpuwait --root @pending-wait --tsv --columns tid,run_ns,wait_ns,wait_ratio
