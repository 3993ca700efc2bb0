# Names that look like the rest of the line: 6 kills each by 3.10 and 6.12, and each group below the one at its limit.
perfbox oomcheck --root @oom --log @oom/hostile.log
perfbox oomcheck --root @oom --log @oom/hostile.log --json
