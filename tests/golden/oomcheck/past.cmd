perfbox oomcheck --root @oom-counted --past -q --table cgroups
