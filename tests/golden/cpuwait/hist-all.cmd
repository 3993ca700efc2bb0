# By hand: 10,000 waits; the 5,000th is one of 8,000 in the bucket from 5,632 to 6,144 ns: 5,632 + 512 x 5,000 / 8,000 =
# 5,952; of the 1,010 after losing the CPU 10 took 12 ms: p99 (the 9,900th) is 4 ms, p99.9 (9,990th) 12 ms.
perfbox cpuwait --hist --root @runq-all
perfbox cpuwait --hist --root @runq-all --json
perfbox cpuwait --hist --root @runq-all --tsv
perfbox cpuwait --hist --root @runq-all --tsv --table buckets
perfbox cpuwait --hist --root @runq-all --openmetrics --table waits
