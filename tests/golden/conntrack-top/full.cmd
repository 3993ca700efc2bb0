# 90 drops - 4 clashes in 2 s; 10 new/s: 999 / 10 = 99.9 s low, 3000 s high
perfbox conntrack-top --root @ct-full -N all --top 3
perfbox conntrack-top --root @ct-full -N blue --top 3
