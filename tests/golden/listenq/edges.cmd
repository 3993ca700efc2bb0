# Ports below 100 are on a threshold, those above just below it: 10 11 20 21 30 40 41 50 60 70, nothing else. The queue of 11 is
# longer than its limit now; 111, 121 dropped three: cause unknown.
perfbox listenq --root @listen-edges --tsv --table findings --no-header | cut -f 2,3,5
perfbox listenq --root @listen-edges --tsv --no-header --columns local,cause | cut -f 2- | grep unknown
