perfbox cpuwait --root @hybrid --json
perfbox cpuwait --root @hybrid --tsv
perfbox cpuwait --root @hybrid --openmetrics
