perfbox conntrack-top --root @ct-chains --statistics
