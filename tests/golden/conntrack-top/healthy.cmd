# 512 different flows of 514 dumped: 300 SNAT, 150 DNAT, 60 + 1 UDP, 1 ICMP; NEW/s: 40 kept + 20 lost in 2 s
perfbox conntrack-top --root @ct-healthy --top 5
