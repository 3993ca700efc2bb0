perfbox cpuwait --root @schedstat-zero
