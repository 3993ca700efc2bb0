# 3.60 -> 1.80 is half; 2.5 s of 5 = 0.50 new. Two facts differ: a warning. No workload afterwards.
perfbox compare @run-before @run-worse
