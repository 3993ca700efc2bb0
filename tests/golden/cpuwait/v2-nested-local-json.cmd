# As v2-nested-local, every table.
perfbox cpuwait --root @v2-nested-local --json
