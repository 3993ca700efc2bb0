# The only group that can be seen is the container's own, as /: 9 of 10 periods, 400 ms. The worker may use CPU 1 only,
# never slept, so of its 500 ms all 400 ms throttled are its own: 40 % and 10 % queue... see threads of its group.
perfbox cpuwait --root @namespace-inner
