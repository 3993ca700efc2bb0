perfbox cpuwait --root @psi-absent
