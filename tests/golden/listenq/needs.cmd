# 10/s arrived; 20 - 12 = 8 accepted in 2 s: 4/s; 2 workers / 4 per second = 500 ms each; 10/s x 500 ms = 5 workers, with 10/s
# dropped 10. One of three threads is in D, one stopped. The SYN_RECV ones are v4-mapped: they are the dual listener's.
perfbox listenq --root @listen-needs
perfbox listenq --root @listen-needs --json --table findings
