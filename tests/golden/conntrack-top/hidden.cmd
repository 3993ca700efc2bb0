perfbox conntrack-top --root @ct-hidden -u UNREPLIED
perfbox conntrack-top --root @ct-hidden -u SEEN_REPLY --by dst
