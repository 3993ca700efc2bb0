# Any byte may be in a name. The polls are garbled: MAX is what is seen now, and status 1 for the finding, but it is said.
perfbox listenq --root @listen-hostile -tx
perfbox listenq --root @listen-hostile -tx --json
perfbox listenq --root @listen-hostile -tx --tsv
perfbox listenq --root @listen-hostile -tx --openmetrics
# A root that says nothing.
perfbox listenq --root @idle-v2
