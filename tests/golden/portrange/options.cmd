perfbox portrange -s 1.2.3
perfbox portrange --dport 70000
perfbox portrange --by port
perfbox portrange 1 2 3
perfbox portrange --root @ports-mixed -N nowhere
