perfbox cpuwait --root @hostile-names --openmetrics
