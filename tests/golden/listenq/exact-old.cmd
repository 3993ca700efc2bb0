# Arrived at :80 are (30 - 10) / 2 s = 10/s, at :82 20 / 2 = 10/s. Whether last ACKs were refused is unknown: said, and no final-ack.
perfbox listenq --root @listen-exact-old --exact
