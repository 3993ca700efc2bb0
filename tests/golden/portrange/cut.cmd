# a dump that was cut, a range that is garbled
cp -r @ports-out cut && cd cut
head -c 3000 000001/calls/1 >cut && cp cut 000001/calls/1 && rm cut
perfbox portrange --root . -t -q --tsv; echo "status $?"
printf "1 x\n" >000001/proc/sys/net/ipv4/ip_local_port_range
perfbox portrange --root . -t -q --tsv
rm -r ../cut
