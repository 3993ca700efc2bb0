# of the same 30 in TIME_WAIT 26 are reused after 1 s: held 20 + 4 = 24 of 50, 26 free
for n in reused loopback remote stamps; do
	perfbox portrange --root @ports-out -N $n -t --tsv --columns netns,destination,established,time_wait,reusable,held,free,connects_per_second,need_ports --no-header
	echo "$n: $?"
	perfbox portrange --root @ports-out -N $n -t --tsv --table findings --no-header
done
