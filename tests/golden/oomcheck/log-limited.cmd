# 15 kills, 8 reports: of the last 7 the kernel said no more than "Killed process", and that 7 were left out.
perfbox oomcheck --root @oom --log @oom/limited.log --tsv --no-header --columns pid,comm,cgroup,cause,limited_by,usage_bytes
