# Runs of cpuwait, not of triage, with what the applet alone sees.
perfbox compare @v2-nested @v2-nested-local
