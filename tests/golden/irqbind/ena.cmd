perfbox irqbind --root @irq-ena --table interfaces --json
perfbox irqbind --root @irq-ena
perfbox irqbind --root @irq-ena --plan spread
cp -r @irq-ena copy-ena
perfbox irqbind --root copy-ena --apply spread --journal journal-ena; echo "status $?"
perfbox irqbind --root copy-ena --apply spread --journal journal-ena --force -q >out-ena; echo "status $?"
tail -n 2 out-ena
rm -r copy-ena journal-ena out-ena
