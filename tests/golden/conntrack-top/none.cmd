perfbox conntrack-top --root @ct-none
perfbox conntrack-top --root @ct-none --statistics --json
