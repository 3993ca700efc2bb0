# 4 x 50 % wait, 4 x 48 % user, 4 x 2 % system; average wait 2,000 ms / 200 turns = 10 ms. Nothing is cut at 100 %.
perfbox cpuwait --root @four-half --by process
perfbox cpuwait --root @four-half --by process --tsv
