# What can't be a kernel log can't say that nobody was killed: 3, each of them; no name at all: 2.
for log in nothing.log empty.log nowhere.log .; do
	perfbox oomcheck --root @oom --log @oom/$log
	echo "status $?"
done
perfbox oomcheck --root @oom --log
