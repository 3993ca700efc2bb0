# 400 each of the frequent ones; the error is at most 24,700 / 16,384 = 1; 30,000 began, then it rests
perfbox conntrack-top --root @ct-many --top 3
perfbox conntrack-top --root @ct-many --sort -unreplied --top 2 --table flows
