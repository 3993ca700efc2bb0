# Reading fails with EOPNOTSUPP: "-", and what turns it on. Not a reason for status 3.
perfbox cpuwait --root @psi-off
