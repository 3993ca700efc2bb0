perfbox conntrack-top --root @ct-healthy --by src,dst,nat --redact --top 3 | grep -E '192\.168|203\.0|93\.184|198\.51' || echo no address
