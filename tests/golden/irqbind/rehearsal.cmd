# A whole rehearsal on a copy: plan, apply, plan again (nothing), a second apply (refused), somebody's change, verify, roll back.
cp -r @irq-virtio copy-rehearsal
perfbox irqbind --root copy-rehearsal --plan spread --tsv >plan-rehearsal
perfbox irqbind --root copy-rehearsal --apply plan-rehearsal --journal journal-rehearsal; echo "status $?"
cat copy-rehearsal/000000/proc/irq/38/smp_affinity_list copy-rehearsal/000000/sys/class/net/eth0/queues/rx-0/rps_cpus
perfbox irqbind --root copy-rehearsal --plan spread; echo "status $?"
perfbox irqbind --root copy-rehearsal --apply node --journal journal-rehearsal --sysctl net.core.somaxconn=8192; echo "status $?"
cp -r copy-rehearsal/000000/proc/irq copy-rehearsal/000000/sys copy-rehearsal/000001/ 2>/dev/null; cp -r copy-rehearsal/000000/proc/irq copy-rehearsal/000001/proc/
perfbox irqbind --root copy-rehearsal --verify journal-rehearsal; echo "status $?"
echo 2-3 >copy-rehearsal/000000/proc/irq/38/smp_affinity_list
perfbox irqbind --root copy-rehearsal --rollback journal-rehearsal; echo "status $?"
diff -r copy-rehearsal/000000 @irq-virtio/000000 && echo as it was
perfbox irqbind --root copy-rehearsal --rollback journal-rehearsal; echo "status $?"
cut -f 1,2,5-7 journal-rehearsal/journal | sed 4q
rm -r copy-rehearsal plan-rehearsal journal-rehearsal
