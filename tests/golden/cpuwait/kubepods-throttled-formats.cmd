# The same numbers, raw.
perfbox cpuwait --root @kubepods-throttled --json --top 2
perfbox cpuwait --root @kubepods-throttled --tsv --table cgroups --top 2
perfbox cpuwait --root @kubepods-throttled --tsv --table findings
perfbox cpuwait --root @kubepods-throttled --openmetrics --top 1
