# Frame 0 to 1 is before, 1 to 2 after: 600 packets lost in the second only
cp -r @irq-guard copy-guard
perfbox irqbind --root copy-guard --apply spread --journal journal-guard --guard 1 -q; echo "status $?"
diff -r copy-guard/000000 @irq-guard/000000 && echo as it was
rm -r copy-guard journal-guard
cp -r @irq-guard copy-guard
perfbox irqbind --root copy-guard --apply single 2 --journal journal-guard --guard 1 --table plan --columns path,result; echo "status $?"
rm -r copy-guard journal-guard
