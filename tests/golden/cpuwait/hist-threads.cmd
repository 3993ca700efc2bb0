perfbox cpuwait --hist --by thread --root @runq-threads
perfbox cpuwait --hist --by thread --root @runq-threads --tsv
perfbox cpuwait --hist --by thread --root @runq-threads --redact --table threads
perfbox cpuwait --hist --by process --root @runq-threads
