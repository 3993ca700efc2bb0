perfbox listenq --root @listen-overflow --json
perfbox listenq --root @listen-overflow --tsv
perfbox listenq --root @listen-overflow --tsv --table namespaces
perfbox listenq --root @listen-overflow --tsv --table findings
perfbox listenq --root @listen-overflow --openmetrics
perfbox listenq --root @listen-overflow --redact
