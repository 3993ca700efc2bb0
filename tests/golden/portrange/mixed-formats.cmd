perfbox portrange --root @ports-mixed -N all --json
echo
perfbox portrange --root @ports-mixed -N all --openmetrics
perfbox portrange --root @ports-mixed -N all --tsv
perfbox portrange --root @ports-mixed -N all --tsv --table findings
perfbox portrange --root @ports-mixed -N all --tsv --table listeners
