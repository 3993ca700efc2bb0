# isolated 6 and 7 get none; eth01's line is not eth0's; managed nvme on 7 is no intruder
perfbox irqbind --root @irq-odd bond0
perfbox irqbind --root @irq-odd --plan spread bond0
perfbox irqbind --root @irq-odd --plan spread eth1 --cpus 6
perfbox irqbind --root @irq-odd nope
