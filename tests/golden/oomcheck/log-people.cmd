# What a person sees of a dated log, and of one on standard input that has no dates.
perfbox oomcheck --root @oom --log @oom/journal.log
perfbox oomcheck --root @oom --past --log - < @oom/dmesg.log
