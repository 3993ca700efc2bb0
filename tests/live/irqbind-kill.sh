# A plan that is applied to a copy of a host and killed at every call that changes something: rolling back restores every byte.
# The same for a rollback that is killed, and a rollback again.
. "$repo/tests/lib.sh"

killat=$O/tests/live/killat
[ -x "$killat" ] || skip_all "$killat is not built"
command -v python3 >/dev/null || skip_all "python3 is missing: it makes the copy"
python3 -B "$repo/tests/fixtures/irq-virtio.py" "$work/host" || skip_all "the host can't be made"
"$killat" 9999 true || skip_all "processes can't be traced here (ptrace)"

is_as_it_was() { diff -r "$work/host" "$work/copy" >"$work/diff" 2>&1; }
fresh() { rm -rf "$work/copy" "$work/journal"; cp -r "$work/host" "$work/copy"; }
apply="$PERFBOX irqbind --root $work/copy --apply spread --journal $work/journal --sysctl net.core.rmem_max=425984 -q"
roll_back="$PERFBOX irqbind --root $work/copy --rollback $work/journal -q"

begin "--apply killed at every step: --rollback restores the exact former state"
n=0 changed=0
while n=$((n + 1)) && [ $n -lt 300 ]; do
	fresh
	run "$killat" $n $apply
	[ "$status" = 137 ] || break
	is_as_it_was || changed=$((changed + 1))
	[ -e "$work/journal/journal" ] || { want_that "killed at $n, before there was a journal, nothing changed" is_as_it_was; continue; }
	run $roll_back
	want_status 0
	want_that "killed at $n, rolled back, it is as it was: $(head -n 3 "$work/diff")" is_as_it_was
done
want_that "the end was reached: status $status" [ "$status" = 0 ]
want_that "there were many steps ($n), some between write and write ($changed)" [ $n -gt 25 -a $changed -gt 10 ]

begin "killed at any step, a second --apply on that journal is refused"
fresh
run "$killat" 12 $apply
want_status 137
run $apply
want_status 3
want_match err 'in force'

begin "--rollback killed at every step, and again to its end"
n=0
while n=$((n + 1)) && [ $n -lt 300 ]; do
	fresh
	run $apply
	want_status 0
	run "$killat" $n $roll_back
	[ "$status" = 137 ] || break
	run $roll_back
	want_status 0
	want_that "killed at $n, rolled back again, it is as it was: $(head -n 3 "$work/diff")" is_as_it_was
done
want_that "the end was reached: status $status" [ "$status" = 0 ]
want_that "there were many steps: $n" [ $n -gt 12 ]
want_that "and it is as it was" is_as_it_was

finish
