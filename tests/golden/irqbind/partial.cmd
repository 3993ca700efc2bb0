# A step whose file is gone, one whose value is not the plan's, a ring: named, the rest is done, status 3. All or nothing: put back.
cp -r @irq-ixgbe copy-partial
perfbox irqbind --root copy-partial --plan spread --ring max --tsv --columns path,old_value,new_value >plan-partial
rm copy-partial/000000/proc/irq/100/smp_affinity_list
echo 5 >copy-partial/000000/proc/irq/101/smp_affinity_list
perfbox irqbind --root copy-partial --apply plan-partial --journal journal-partial -q >out-partial; echo "status $?"; sed 7q out-partial
perfbox irqbind --root copy-partial --rollback journal-partial >/dev/null; echo "status $?"
perfbox irqbind --root copy-partial --apply plan-partial --journal all-partial --all-or-nothing -q; echo "status $?"
cat copy-partial/000000/proc/irq/102/smp_affinity_list
rm -r out-partial copy-partial plan-partial journal-partial all-partial
