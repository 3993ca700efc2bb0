# 100 of 300 containers throttled in 13 of 50 periods, 780 ms = 15.6 % of 5 s; each of 4 threads waits 195 ms (3.9 %),
# of which 780 - 3 x 195 = 195 ms certainly. No finding, status 0.
perfbox cpuwait --root @kubepods-healthy --top 3
perfbox cpuwait --root @kubepods-healthy --json --table findings
