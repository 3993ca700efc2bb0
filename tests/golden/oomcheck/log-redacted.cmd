# No name of a process or a group: neither in rows nor in the findings' words.
perfbox oomcheck --root @oom --log @oom/journal.log --redact
perfbox oomcheck --root @oom --log @oom/user-space.log --redact
