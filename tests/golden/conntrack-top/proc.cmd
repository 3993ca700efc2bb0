perfbox conntrack-top --root @ct-proc --by src,dst,dport,state,zone,mark,nat
