perfbox cpuwait --root @saturated-nice
