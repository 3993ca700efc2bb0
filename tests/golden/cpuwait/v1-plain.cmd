# Recorded: no finding, status 0.
perfbox cpuwait --root @v1-plain
