# As v2-nested-local.
perfbox cpuwait --root @v2-nested-local --openmetrics
