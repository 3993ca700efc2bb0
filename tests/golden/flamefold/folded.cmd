# The first event with samples, its period as weight: 2 x 10101010 in checkout and total, ... ; page-faults is listed, not mixed.
cd "$tests/fixtures/stacks"
perfbox flamefold shop.perf
perfbox flamefold --weight samples shop.perf
perfbox flamefold -e page-faults shop.perf
perfbox flamefold --event cycles shop.perf
echo "status $?"
# standard input, twice the same: weights add up
cat before.folded | perfbox flamefold - before.folded
perfbox flamefold <crlf.folded
perfbox flamefold bpftrace.txt
