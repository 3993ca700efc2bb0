perfbox cpuwait --root @pinned-isolated
