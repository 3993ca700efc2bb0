cd "$tests/fixtures/stacks"
try() { echo "== $*"; perfbox flamefold -q "$@"; }
try --by pid --weight samples shop.perf
try --by tid --weight samples shop.perf
try --by cpu --weight samples shop.perf
try --by none --weight samples shop.perf
try --kernel --weight samples shop.perf
try --jit --weight samples shop.perf
try --all --weight samples shop.perf
try --addrs --weight samples shop.perf
try --args --weight samples shop.perf
try --no-args --weight samples shop.perf
try --simplify --args --weight samples templates.perf
try --kernel --weight samples templates.perf
try --include '^shop::' --weight samples shop.perf
try --exclude '^shop::' --weight samples shop.perf
try --include idle --weight samples shop.perf
try --skip-after main --weight samples shop.perf
try --from 100.11 --to 100.12 --weight samples shop.perf
try --cpu 1 --weight samples shop.perf
try --max-depth 2 --weight samples shop.perf
try --reverse --weight samples shop.perf
# what can't be known is said, with status 3
perfbox flamefold --from 1 before.folded
echo "status $?"
