# Verify and show with --journal: what changed since; another boot's journal
cp -r @irq-virtio copy-journal
perfbox irqbind --root copy-journal --apply spread --journal journal-journal -q >/dev/null
for f in 0 1; do cp -r copy-journal/000000/proc/irq copy-journal/000000/proc/sys copy-journal/00000$f/proc/ 2>/dev/null; done
cp -r copy-journal/000000/sys copy-journal/000001/
echo 3 >copy-journal/000001/proc/irq/38/smp_affinity_list
perfbox irqbind --root copy-journal --verify journal-journal; echo "status $?"
perfbox irqbind --root copy-journal --journal journal-journal -q --table findings --tsv | cut -f 2-5
echo other >copy-journal/000000/proc/sys/kernel/random/boot_id
perfbox irqbind --root copy-journal --rollback journal-journal; echo "status $?"
perfbox irqbind --root copy-journal --rollback journal-journal --force -q; echo "status $?"
chmod 755 journal-journal
perfbox irqbind --root copy-journal --rollback journal-journal; echo "status $?"
rm -r copy-journal journal-journal
