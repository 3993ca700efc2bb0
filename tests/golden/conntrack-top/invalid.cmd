# 4 % of all; the rule moved by 300; 400 of 100,000 are 0.4 %
perfbox conntrack-top --root @ct-invalid --statistics
