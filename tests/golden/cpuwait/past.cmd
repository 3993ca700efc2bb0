# Since it was made: /docker/4f... 6,510 throttled periods.
perfbox cpuwait --root @hybrid --past -q
perfbox cpuwait --root @hybrid --past --table host
