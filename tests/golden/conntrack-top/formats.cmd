perfbox conntrack-top --root @ct-healthy --by dst,dport --json --top 2
perfbox conntrack-top --root @ct-healthy --by dst,dport --tsv --top 2
perfbox conntrack-top --root @ct-healthy --by dst,dport --openmetrics --top 2
