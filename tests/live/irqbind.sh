# RPS and XPS of a veth with two queues, in a namespace with a /sys of its own: real writes, read back, rolled back, guarded.
# No interrupt and no device of the host is touched: there are none in that namespace.
. "$repo/tests/lib.sh"

signal=$O/tests/live/signal
[ "$(id -u)" = 0 ] || skip_all "needs root: it makes a network namespace"
unshare -n -m true 2>/dev/null || skip_all "namespaces can't be made (unshare)"
[ "$(nproc)" -ge 2 ] || skip_all "one CPU: there is nothing to spread"

# inside WORDS...: a shell's words in new namespaces with the veth pair pbt0, pbt1
inside()
{
	unshare -n -m sh -c '
		mount -t sysfs none /sys 2>/dev/null || exit 77
		ip link add pbt0 numtxqueues 2 numrxqueues 2 type veth peer name pbt1 || exit 77
		ip link set lo up; ip link set pbt0 up; ip link set pbt1 up
		cd /sys/class/net/pbt0/queues
		'"$*"
}
state='cat rx-*/rps_cpus rx-*/rps_flow_cnt tx-*/xps_cpus'
journal=$work/journal

run inside true
[ "$status" = 0 ] || skip_all "a veth with two queues and a /sys of its own can't be made"

begin "a veth's queues are shown, and nothing is found"
run inside "$PERFBOX irqbind pbt0 0.2 1"
want_status 0
want_match out 'pbt0 +rx-1 +none'
want_match out 'pbt0 .* 2 +2 +0 '

begin "apply, read back, apply again is nothing, verify, roll back: as it was"
run inside "$state >$work/before
	$PERFBOX irqbind --apply spread pbt0 --journal $journal || exit 9
	$state >$work/applied
	$PERFBOX irqbind --plan spread pbt0 -q --tsv --no-header >$work/again
	$PERFBOX irqbind --verify $journal 0.1 || exit 8
	echo 1 >tx-1/xps_cpus
	$PERFBOX irqbind --verify $journal 0.1 >$work/changed; echo \$? >>$work/changed
	$PERFBOX irqbind --rollback $journal || exit 7
	$state >$work/after"
want_status 0
want_that "it changed something" [ "$(cmp -s "$work/before" "$work/applied"; echo $?)" = 1 ]
want_that "planned again it is nothing" [ ! -s "$work/again" ]
want_match "$work/changed" 'now +irqbind.irqbalance-conflict'
want_that "status 1" [ "$(tail -n 1 "$work/changed")" = 1 ]
want_match err 'somebody else made it 0*1 meanwhile'
want_that "as it was" cmp "$work/before" "$work/after"

begin "what the kernel refuses is named, the rest is done: status 3; the wrong CPU is put back"
rm -rf "$journal"
run inside "{ printf 'path\told_value\tnew_value\n'
	printf '/sys/class/net/pbt0/queues/tx-0/xps_cpus\t%s\tffffffff,ffffffff,ffffffff,ffffffff,00000000\n' \$(cat tx-0/xps_cpus)
	printf '/sys/class/net/pbt0/queues/tx-9/xps_cpus\t0\t1\n'
	printf '/sys/class/net/pbt0/queues/rx-0/rps_cpus\t0\t1\n'
	printf '/sys/class/net/pbt0/queues/rx-0/rps_flow_cnt\t0\t100\n'
	printf '/sys/class/net/pbt0/queues/tx-1/xps_cpus\t%s\t2\n' \$(cat tx-1/xps_cpus); } >$work/plan
	$state >$work/before
	$PERFBOX irqbind --apply $work/plan --journal $journal; echo \$? >$work/status
	cat tx-1/xps_cpus rx-0/rps_cpus rx-0/rps_flow_cnt >$work/applied
	$PERFBOX irqbind --rollback $journal || exit 9
	$state >$work/after"
want_status 0
want_that "status 3" [ "$(cat "$work/status")" = 3 ]
want_match err 'tx-0/xps_cpus: a CPU this host can.t have: EOVERFLOW'
want_match err 'tx-9/xps_cpus: No such file'
want_match err 'rps_flow_cnt: the kernel made it 128'
want_that "the rest is done" [ "$(sed 's/^0*//' "$work/applied" | tr '\n' ' ')" = '2 1 128 ' ]
want_that "rolled back, it is as it was" cmp "$work/before" "$work/after"

begin "the guard: nothing worse, it stays; Ctrl-C, all is put back"
rm -rf "$journal"
run inside "$state >$work/before
	$PERFBOX irqbind --apply spread pbt0 --journal $journal --guard 0.5; echo \$? >$work/status
	$state >$work/applied"
want_that "status 0" [ "$(cat "$work/status")" = 0 ]
want_match err 'the plan stays in force'
want_that "it stayed" [ "$(cmp -s "$work/before" "$work/applied"; echo $?)" = 1 ]
rm -rf "$journal"
run inside "$state >$work/before
	$signal INT 1500 $PERFBOX irqbind --apply spread pbt0 --journal $journal --guard 1; echo \$? >$work/status
	$state >$work/applied"
want_that "status 3" [ "$(cat "$work/status")" = 3 ]
want_match err 'interrupted: all was put back'
want_that "as it was" cmp "$work/before" "$work/applied"

finish
