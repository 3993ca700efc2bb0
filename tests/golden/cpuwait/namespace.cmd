# The container's group is /../../pod7/ctr1 in the walk; above /../.. nothing can be seen, and stderr says so.
# Throttled 20 ms of 30 ms wait, the thread slept and may use 4 CPUs: 0 to 2 %, middle ~1 %.
perfbox cpuwait --root @namespace
