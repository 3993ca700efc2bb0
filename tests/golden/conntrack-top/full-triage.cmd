perfbox triage --root @ct-full
