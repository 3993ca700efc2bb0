perfbox oomcheck --root @oom-namespace -q --table cgroups -p 77
perfbox oomcheck --root @oom-namespace -q --table cgroups -G /worker
perfbox oomcheck --root @oom-namespace -q --table cgroups -G /sys/fs/cgroup/worker/
perfbox oomcheck --root @oom-namespace -G /nowhere
perfbox oomcheck --root @oom-namespace -p 4242
perfbox oomcheck --root @oom-counted -p 4242
perfbox oomcheck --root @oom-counted -q -p 600
perfbox oomcheck --root @oom-counted -q -G /web
perfbox oomcheck -p 0
perfbox oomcheck -G ""
perfbox oomcheck --root @oom-namespace --redact -G /secret
