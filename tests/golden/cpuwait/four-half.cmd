perfbox cpuwait --root @four-half
