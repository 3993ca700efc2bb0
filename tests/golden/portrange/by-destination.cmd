perfbox portrange --root @ports-out --by dst --tsv
perfbox portrange --root @ports-out --by dst -q -t --sort destination | sed "/^NETNS/q"
