# A busy node of 300 pods: nothing wrong, status 0.
perfbox triage --root @kubepods-healthy
