# /pin: 100 ms of quota, 900 ms throttled, one thread on CPU 2 only and never asleep: all its wait is throttle, 90 %.
# /app: 500 ms throttled; without cpu.stat.local and by-CPU counts the worker's part is 0 to 50 %: "-".
# The worker runs 45 ticks user, 5 system of 50: 45 % and 5 %. inner: own 1.00, effective 0.50.
perfbox cpuwait --root @v2-nested
