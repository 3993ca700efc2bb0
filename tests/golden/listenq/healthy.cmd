# Nothing: see fixtures/listen-healthy.py. The SYN queue of 400 is below 511, and cookies are no trouble.
perfbox listenq --root @listen-healthy
