# CPU 400 is bit 16 of the 13th group from the right; 35 bit 3 of the second
perfbox irqbind --root @irq-wide -q --table queues
perfbox irqbind --root @irq-wide -q --table heat
perfbox irqbind --root @irq-wide --plan map --map 0=400,3=35
perfbox irqbind --root @irq-wide --plan spread --cpus 400,35 --tsv --columns path,old_value,new_value
perfbox irqbind --root @irq-wide --plan map --map 0=439
perfbox irqbind --root @irq-wide --plan spread --cpus 3,439
