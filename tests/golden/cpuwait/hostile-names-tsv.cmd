perfbox cpuwait --root @hostile-names --tsv
perfbox cpuwait --root @hostile-names --tsv --table cgroups
perfbox cpuwait --root @hostile-names --tsv --table findings
