perfbox irqbind --plan
perfbox irqbind --plan fast
perfbox irqbind --plan single eth0
perfbox irqbind --plan map
perfbox irqbind --plan spread --map 1=2,x
perfbox irqbind --plan spread --cpus 0x3
perfbox irqbind --plan spread --ring huge
perfbox irqbind --plan spread --sysctl kernel.pid_max=5
perfbox irqbind --plan spread --sysctl net/../kernel/pid_max=5
perfbox irqbind --apply spread
perfbox irqbind --apply nowhere --journal journal-usage
perfbox irqbind --rollback
perfbox irqbind --rollback nowhere
perfbox irqbind --verify nowhere
printf "path\told_value\tnew_value\n/proc/sysrq-trigger\t0\tb\n" | perfbox irqbind --apply - --journal journal-usage
printf "path\told_value\tnew_value\n/proc/irq/1/smp_affinity_list\t0\t" | perfbox irqbind --apply - --journal journal-usage
