# 420 of 700 unreplied
perfbox conntrack-top --root @ct-flood --top 1
perfbox conntrack-top --root @ct-flood --top 1 -p udp --table findings --json
