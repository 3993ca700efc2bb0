# Recorded. By hand from the saved files, first interval 1,003.69 ms: schedstat moved by 96.40 ms run (9.6 %) and 897.01 ms
# wait (89.4 %); throttled_time by 879.12 ms (0.88/s); the thread may use CPU 1 only and never slept, so all of that is
# its own: 87.6 %, and 17.9 ms (1.8 %) queue. Second, 1,000.41 ms: 102.77 run (10.3 %); 899.63 wait, but no more than
# 1,000.41 - 102.77 = 897.64 (89.7 %) can be of this interval; 870.98 throttled, scaled with it: 869.06 (86.9 %).
perfbox cpuwait --root @v1-throttled
