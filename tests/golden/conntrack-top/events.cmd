# new 30 and 2, ended 20 and 50; 6 of the 30 are of each source
perfbox conntrack-top --root @ct-events
