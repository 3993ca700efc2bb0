# 100 in all; main and app have none of their own. Recursion counts once: fact 6 of 6.
cd "$tests/fixtures/stacks"
perfbox flamefold --functions before.folded
perfbox flamefold --functions recursion.folded
perfbox flamefold --functions --top 1 --sort -total_ratio before.folded
perfbox flamefold --functions --tsv --columns function,self,total before.folded | cut -f 2-
perfbox flamefold --functions --json before.folded | sed 's/"time":"[^"]*",//'
perfbox flamefold --functions --openmetrics before.folded
perfbox flamefold --json before.folded | sed 's/"time":"[^"]*",//'
perfbox flamefold --tsv --table stacks before.folded | cut -f 2-
# the task is no function unless asked for
perfbox flamefold -q --functions --by comm --weight samples shop.perf
perfbox flamefold -q --functions --weight samples shop.perf
# which table: stacks, unless functions are asked for by either name
perfbox flamefold --tsv before.folded | cut -f 2-
perfbox flamefold --diff --tsv before.folded after.folded | cut -f 2-
perfbox flamefold --json --table functions --columns function,self before.folded | sed 's/"time":"[^"]*",//'
