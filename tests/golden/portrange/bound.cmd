# to 10.0.0.8:80 100 - 1 - 2 = 97 free; with --exact 40 less
perfbox portrange --root @ports-bound -q -t
perfbox portrange --root @ports-bound --exact -q -t
