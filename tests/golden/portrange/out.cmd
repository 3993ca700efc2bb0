# 10.0.0.9:80: 20 + 30 = 50 of 50. 10.0.0.9:81: 38 / 50 = 76 %
perfbox portrange --root @ports-out
