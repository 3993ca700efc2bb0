# Two groups: 1.80 and 0.50 CPU-s/s lost, the larger first; two findings, status 1.
perfbox triage --root @run-worse
