# -a: the thread that did nothing, too.
perfbox cpuwait -a --root @idle-v2
