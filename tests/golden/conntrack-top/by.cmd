for by in dst dport src,dst,dport proto state zone mark netns nat; do
	echo "== $by"
	perfbox conntrack-top --root @ct-healthy --by $by --table flows --tsv --columns netns,src,dst,proto,dport,state,zone,mark,nat,flows,assured,unreplied,timeout_ns,bytes,packets --top 4 --no-header | sed -n 1,4p
done
