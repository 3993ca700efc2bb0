perfbox portrange --root @ports-out/000001 -t
