# only the own namespace, in which nothing is wrong
perfbox portrange --root @ports-mixed
