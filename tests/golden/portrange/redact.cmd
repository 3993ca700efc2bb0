perfbox portrange --root @ports-mixed -N all --redact -q
perfbox portrange --root @ports-mixed -N all --redact --json --table findings
