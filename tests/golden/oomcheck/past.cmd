perfbox oomcheck --root @oom-killed --past -q --table cgroups
