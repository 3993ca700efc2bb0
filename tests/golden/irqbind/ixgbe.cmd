# 400,000 of 400,310 packets/s, 98 % softirq, 600 + 40 lost: now. Node 1 is CPUs 8-15,24-31 and all comes in on 0. 30 squeezes of
# 300 softirqs are 10 %.
perfbox irqbind --root @irq-ixgbe --top 4
perfbox irqbind --root @irq-ixgbe -q --table findings --json
