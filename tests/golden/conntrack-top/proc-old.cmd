perfbox conntrack-top --root @ct-proc-old --by src,dport,state
