perfbox cpuwait --hist --by cgroup --root @runq-cgroups
perfbox cpuwait --hist --by cgroup --root @runq-cgroups --only woken --tsv
perfbox cpuwait --hist --root @hybrid
perfbox cpuwait --hist --by core --root @hybrid
perfbox cpuwait --hist -p 0 --root @hybrid
