perfbox triage --root @run-worse --redact
