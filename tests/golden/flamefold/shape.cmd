# A plateau: parse itself 40 of 100. A tower: 88 of 100 through three, no function more than 8 % itself.
cd "$tests/fixtures/stacks"
perfbox flamefold -v before.folded >/dev/null
perfbox flamefold -v tower.folded >/dev/null
perfbox flamefold -v kernel.folded >/dev/null
# 20202020 of 50505050 end in frames without a name
perfbox flamefold --exclude Interpreter --functions -q shop.perf
