# /job: oom_kill +3 for two victims, the first counts twice. /quiet: the log has none of its two. /late: the log had it one
# look before the counter.
perfbox oomcheck --root @oom-counted
