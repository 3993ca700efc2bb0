# Second look: 4001 started. Third: 4000 and the first 4002 exited, the second 4002 started; 4002's counts went from
# 9 s to 0.9 s, which is no wait of its own. 4001: 30 of 1,000 ms run, 40 waited.
perfbox cpuwait --root @vanish
