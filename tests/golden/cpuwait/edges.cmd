# fixtures/edges.py lists 20 seconds: what is on a threshold is found (2 5 7 9 11 13 15 17 20), what is below is not.
perfbox cpuwait --root @edges --tsv --table findings --no-header | cut -f 1,2,5
