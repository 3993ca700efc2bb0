# cpu.stat.local: /app lost 500 ms while a member waited, others in it waited 0: the worker's 50 % are all throttle.
perfbox cpuwait --root @v2-nested-local
