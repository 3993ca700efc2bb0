perfbox portrange --root @ports-mixed -N web -d 10.0.0.8 -q
perfbox portrange --root @ports-mixed -N web --dport 443 -6 -t -q
perfbox portrange --root @ports-mixed -N web -s 10.0.0.9 -t -q
perfbox portrange --root @ports-mixed -N web -u --tsv
