# Own :80: (50 - 10) / 2 s = 20/s arrived, none waits more: 20/s accepted, 30 refused. *:81: 820 / 2 = 410/s arrived, 4 wait more:
# 408/s. [2001:db8::1]:81 20/s. The other namespace: its own 5 / 2 s; its PassiveOpens would do for it without --exact.
perfbox listenq --root @listen-exact -N all --exact
perfbox listenq --root @listen-exact -N all --tsv --columns netns,local,accepts_per_second
# Not saved with it: that can't be told.
perfbox listenq --root @listen-overflow --exact
