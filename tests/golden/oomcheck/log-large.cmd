# Read in pieces of 256 KiB: a line longer than that is no kill and hides none (2 of recorded.log behind it); of 100 logs with
# 3 kills each, 834 KB without a newline at the end, none is missed or told twice.
{ head -c 300000 /dev/zero | tr '\0' x; echo; cat @oom/recorded.log; } | perfbox oomcheck --root @oom --log - --tsv --no-header --columns pid,place
{ for a in 1 2 3 4 5 6 7 8 9 10; do for b in 1 2 3 4 5 6 7 8 9 10; do cat @oom/6.12.log; done; done; printf '6,1,1,-;x'; } |
	perfbox oomcheck --root @oom --log - --tsv --no-header --columns pid | cut -f 2 | sort | uniq -c
head -c 300000 /dev/zero | tr '\0' x | perfbox oomcheck --root @oom --log -
