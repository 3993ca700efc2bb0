# 60 taken + the listener; connects 40 / 2 s = 20/s, none of them held: needs 60
perfbox portrange --root @ports-peer -t
