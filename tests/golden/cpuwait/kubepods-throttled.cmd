# One container: 17.4 s throttled in 5 s = 3.48/s; quota 0.5, used 2.5 / 5. Its worst thread waits 4,750 of 5,000 ms; the
# others 1,300 + 10 x 1,175 = 13,050: throttled at least 17,400 - 13,050 = 4,350 (87 %), at most 4,750 (95 %): ~91 %,
# queue ~4 %. Second: 17,400 - 16,500 = 900 to 1,300: 18 to 26 %: ~22 %. Third: 17,400 - 16,625 = 775 to 1,175: 15.5 to
# 23.5 %: ~19.5 %. Nothing else is found.
perfbox cpuwait --root @kubepods-throttled --top 3
