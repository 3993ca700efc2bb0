# -p: with all threads; --tid: one; -C: by name; -G: a group and below, with what limits it from above.
perfbox cpuwait --root @v2-nested-local -q -p 1000
perfbox cpuwait --root @v2-nested-local -q -p 1000,2000 -a
perfbox cpuwait --root @v2-nested-local -q --tid 1001
perfbox cpuwait --root @v2-nested-local -q -C '^bat'
perfbox cpuwait --root @v2-nested-local -q -G /app/web
perfbox cpuwait --root @v2-nested-local -q -t 1 1
