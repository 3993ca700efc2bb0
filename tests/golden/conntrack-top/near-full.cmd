# 24,000 / 10 = 2,400 s; 24,000 / 6 = 4,000 s is more than an hour; 2 x 100,000 / 24,576 = 8.1
perfbox conntrack-top --root @ct-near-full --statistics -N all
