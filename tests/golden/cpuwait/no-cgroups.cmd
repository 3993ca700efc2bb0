# Nobody can be throttled by quotas that can't be seen: unknown, not 0.
perfbox cpuwait --root @no-cgroups
