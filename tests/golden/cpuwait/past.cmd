# Since it was made: /docker/4f... 6,510 throttled periods, and without --past how many groups there are of that kind.
perfbox cpuwait --root @hybrid --past --top 1 --columns tid --table threads
perfbox cpuwait --root @hybrid --past
