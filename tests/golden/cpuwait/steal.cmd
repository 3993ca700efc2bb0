# 20 of 100 ticks stolen on each CPU; demand is all that was not idle: (74+5+20 + 3 x (22+5+20)) + 0 = 240 of 400: 80 / 240 =
# 33 %; 0.20 x 4 = 0.80 CPU. The worker's 10 ms of wait are 1 %: what was stolen from it is no wait for a run queue.
perfbox cpuwait --root @steal
