perfbox cpuwait --root @hybrid -q --table threads --columns comm,wait_ratio,tid
perfbox cpuwait --root @hybrid -q --table threads --columns +run_ns
perfbox cpuwait --root @hybrid -q --table threads --sort tid
perfbox cpuwait --root @hybrid -q --table threads --sort -run_ns --top 1
perfbox cpuwait --root @hybrid -q --table threads --no-header
perfbox cpuwait --root @hybrid --tsv --columns tid,cgroup --no-header --top 2
