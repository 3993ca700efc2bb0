perfbox oomcheck --root @oom --log @oom/journal-iso.log --json
