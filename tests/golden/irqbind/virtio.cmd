# CPU 1: 30,000 of 30,300 packets/s is 99.0 %; softirq 70 of 100 ticks; the others 90 idle. One queue: RPS to the other three.
perfbox irqbind --root @irq-virtio
perfbox irqbind --root @irq-virtio --plan spread
perfbox irqbind --root @irq-virtio --plan single 3 eth0 --sysctl net.core.rmem_max=16777216
