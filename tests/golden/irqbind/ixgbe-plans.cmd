# spread: cores 8-15 of its node, then 0-7 of the other, no hyperthread. node: 8-15, then their threads 24-31.
# compact: core by core with its thread.
perfbox irqbind --root @irq-ixgbe --plan spread
perfbox irqbind --root @irq-ixgbe --plan node --ring max
perfbox irqbind --root @irq-ixgbe --plan compact --exclude 8,9 | cut -c 1-60 | sed 17q
perfbox irqbind --root @irq-ixgbe --plan spread eth2 --cpus 8-10 --map 0=31 --tsv --columns path,new_value | sed 8q
