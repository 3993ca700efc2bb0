# None of this may reach a terminal, no options file may be followed out of the process's root (303), and what is cut
# (304) or garbled is unknown.
perfbox oomcheck --root @oom-jvm-hostile
