perfbox triage --root @ports-out | sed 1,/^load/d
perfbox triage --root @ports-out --tsv --table findings --no-header | cut -f 2-5
