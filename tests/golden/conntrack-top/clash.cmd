# 19 of 30 flows; chains drop nothing; 12 of 20,000
perfbox conntrack-top --root @ct-clash
perfbox conntrack-top --root @ct-clash --no-events --table findings --tsv
