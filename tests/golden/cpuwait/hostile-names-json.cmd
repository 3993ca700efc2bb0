perfbox cpuwait --root @hostile-names --json
