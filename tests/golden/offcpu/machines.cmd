# The same for scripts: every table, and one stack alone.
perfbox offcpu --root @offcpu-convoy --json
perfbox offcpu --root @offcpu-convoy --tsv --columns comm,cause,waited_ns,sleeping_ns,runnable_ns,preempted_ns,count
