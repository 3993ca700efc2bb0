# /app: 512 - 420 = 92 MiB left, 512 - (420 - 100) = 192 if the cache goes; /app/web has no limit and so the same. FIXED of
# /app/web: 295 + 5. /far says "max 1 GiB": 1024 - 120 = 904, and 1024 - 100 = 924.
perfbox oomcheck --root @oom-nested
