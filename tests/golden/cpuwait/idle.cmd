# One thread ran 4 ms of 1 s (0.4 %) and waited 0.6 ms (0.06 %) in 3 turns (200 us each); 3 voluntary switches.
# systemd did nothing: no row. 4 CPUs with 1 tick of 100 each: user 1 %.
perfbox cpuwait --root @idle-v2
