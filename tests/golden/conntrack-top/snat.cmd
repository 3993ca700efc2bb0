# 55,000 / 64,512 = 85.3 %; 64,000 / 64,512 = 99.2 % with 30 failures
perfbox conntrack-top --root @ct-snat --by nat,dst,dport
