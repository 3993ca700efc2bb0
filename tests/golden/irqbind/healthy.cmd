# 8 queues on 8 cores of the device's node, managed nvme beside: nothing found, status 0; all is where it should be but XPS
perfbox irqbind --root @irq-healthy --top 2
perfbox irqbind --root @irq-healthy --plan spread --tsv --columns path,old_value,new_value
