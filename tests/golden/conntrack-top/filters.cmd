# each filter leaves what its line says: 15 + 3 + 1; 300; 61; 150; 60; 1; 1; 1
for filter in '-s 192.168.1.10' '-s 192.168.1.0/24 -d 93.184.216.34' '-p udp' '--state TIME_WAIT' '-u ASSURED --dport 80 --top 2' \
	'-z 5' '-m 0x7/0xff' '--sport 77 -p icmp' '--dport 53 -u UNREPLIED'; do
	echo "== $filter"
	perfbox conntrack-top --root @ct-healthy $filter --table conntrack --tsv --columns flows --no-header 
done
perfbox conntrack-top --root @ct-healthy -s 10.0.0.0/33
perfbox conntrack-top --root @ct-healthy -s 10.0.0.1 -d ::1
perfbox conntrack-top --root @ct-healthy --by size
perfbox conntrack-top --root @ct-healthy --state LISTENING
perfbox conntrack-top --root @ct-healthy --dport 70000
perfbox conntrack-top --root @ct-healthy -m x
