# CPU 1 full, CPU 0 idle; the two that may use CPU 1 only queue 56 and 46 %. The kernel thread (50 %), the free one (40 %) and
# the one below 30 % are rows.
perfbox cpuwait --root @pinned
