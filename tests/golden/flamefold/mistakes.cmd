cd "$tests/fixtures/stacks"
try() { perfbox flamefold "$@"; echo "status $?"; }
try --svg --pprof before.folded
try --by shoe before.folded
try --include '(' before.folded
try --cpu x before.folded
try --from 2 --to 1 before.folded
try --from soon before.folded
try --context before.folded
try --save "$TMPDIR/save" before.folded
try --root /nowhere before.folded
try -a
try --record -a -p 1
try --record -p 1 -- true
try --record 0
try --record 5 6
try --record -e nosuch 1
try --record -F 99 -c 10 1
try --record -G /no/such/group 1
try --record -G /sys/kernel 1
try --stat 1 2 3
try --stat -e cycles,nosuch 1 1
try -o . before.folded
try -o "" before.folded
try -o /nowhere/x before.folded
