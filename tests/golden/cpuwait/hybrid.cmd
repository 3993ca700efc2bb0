# Two threads on a CPU each, 1 s of throttling over both CPUs; the group ran 500 ms on each, so each CPU can have been
# throttled 500 ms at most: 500 ms each, 50 %. The quota of /docker/spare (0.5) is not used. Paths are those of the cpu
# controller, not of the unified hierarchy. NSpid: 1 and 2 inside.
perfbox cpuwait --root @hybrid
