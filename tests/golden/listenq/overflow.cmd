# 220 drops in 5 s: 44/s. 9 in a queue of 8: 9 fit. Pool: the parent 1234 left out, 4 workers; together they ran 1 s of
# 5 (20 %), waited 2 s (40 %); the most a group was throttled is 1 s (20 %). 5 of the CLOSE_WAIT ones have no inode and
# more than a FIN. Limits: 8 and 128 < 511, 511 =, 4096 >. 23 descriptors: 21 and two sockets.
perfbox listenq --root @listen-overflow
perfbox listenq --root @listen-overflow -v -q
# --pid: 2000 has 127.0.0.1:9000 alone; -4, -6.
perfbox listenq --root @listen-overflow --pid 2000
perfbox listenq --root @listen-overflow -6H --table listeners -q
perfbox listenq --root @listen-overflow -4 --tsv -H --columns local
