# Of the log: two hung tasks, a lockup, a machine check, an I/O and a file system error of the last 24 hours; not the one of
# two days ago, not what a program wrote. Booted 3 days before 00:00:01: -3500 s is 23:01:40. Status 0: nobody's finding.
perfbox triage --root @kernel-log
