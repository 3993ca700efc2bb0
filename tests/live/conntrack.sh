# Connection tracking tables filled, overrun and misused for real, in namespaces of the test's own. The host's
# nf_conntrack_max is never changed: a namespace's own count may come as far.
. "$repo/tests/lib.sh"

helpers=$O/tests/live
ctl=/proc/sys/net/netfilter/nf_conntrack_max
[ "$(id -u)" = 0 ] || skip_all "needs root"
[ -r "$ctl" ] || skip_all "this kernel tracks no connections"
command -v ip >/dev/null || skip_all "no ip (iproute2)"
max=$(cat "$ctl")
[ "$max" -le 600000 ] || skip_all "nf_conntrack_max is $max: too many to fill"
busy=pbt-ct-busy-$$ quiet=pbt-ct-quiet-$$ peer=pbt-ct-peer-$$
for ns in "$busy" "$quiet" "$peer"; do
	ip netns add "$ns" 2>/dev/null || skip_all "no network namespaces"
	at_exit "ip netns del $ns"
	ip -n "$ns" link set lo up
done
in_busy="ip netns exec $busy"
in_quiet="ip netns exec $quiet"
$in_busy "$helpers/ctfill" 10 assured >"$work/fill" 2>&1 && grep -q 'added 10 ' "$work/fill" ||
	skip_all "no flows by ctnetlink: $(cat "$work/fill")"

# Two of the tests make up to 56,000 flows, which must be no trouble yet.
roomy=131072

# Rules that use it make the namespace track what goes through it.
has_nft=
if command -v nft >/dev/null && $in_busy nft 'add table ip t; add chain ip t o { type filter hook output priority 0; };
	add rule ip t o ct state new counter' 2>/dev/null; then
	$in_quiet nft 'add table ip t; add chain ip t o { type filter hook output priority 0; }; add rule ip t o ct state new counter'
	has_nft=1
	for ns in "$busy" "$quiet"; do
		ip netns exec "$ns" sh -c 'echo 3600 >/proc/sys/net/netfilter/nf_conntrack_udp_timeout'
	done
fi

count_of() { ip netns exec "$1" cat /proc/sys/net/netfilter/nf_conntrack_count; }

# The sum over CPUs of a column, read by hand.
stat_of()
{
	ip netns exec "$1" cat /proc/net/stat/nf_conntrack | awk -v name="$2" '
		function hex(s,  i, n) { for (i = 1; i <= length(s); i++) n = n * 16 + index("0123456789abcdef", substr(s, i, 1)) - 1; return n }
		NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) at = i; next }
		{ sum += hex($at) }
		END { printf "%d\n", sum }'
}

# Flows end where they began: nothing is left of the test before.
empty()
{
	ip netns del "$busy"
	ip netns add "$busy"
	ip -n "$busy" link set lo up
	[ -z "$has_nft" ] || $in_busy nft 'add table ip t; add chain ip t o { type filter hook output priority 0; };
		add rule ip t o ct state new counter'
	$in_busy sh -c 'echo 3600 >/proc/sys/net/netfilter/nf_conntrack_udp_timeout'
}

# watch "WHAT HAPPENS" OPTIONS...: it happens in the middle of a look at the two namespaces
watch()
{
	happens=$1
	shift
	(sleep 1.5; eval "$happens") >"$work/happened" 2>&1 &
	run timeout 120 "$PERFBOX" conntrack-top -N all "$@" --json 4 1
	wait $!
	grep '"table":"findings"' "$out" | grep -E "\"netns\":\"pbt-ct-[a-z]+-$$\"" >"$work/findings"
	grep '"table":"conntrack"' "$out" >"$work/rows"
}

found() { sed -n 's/.*"id":"\([^"]*\)","state":"\([^"]*\)","netns":"\([^"]*\)".*/\1 \2 \3/p' "$work/findings" | sort | tr '\n' ';'; }
evidence() { grep "\"id\":\"$1\"" "$work/findings" | sed -n "s/.*[{,]\"$2\":\([0-9.]*\)[,}].*/\1/p"; }
of_row() { grep "\"netns\":\"$1\"" "$work/rows" | sed -n "s/.*,\"$2\":\([0-9.]*\),.*/\1/p"; }
near() { awk -v a="$1" -v b="$2" -v by="$3" 'BEGIN { exit !(a != "" && a >= b - by && a <= b + by) }'; }

begin "a healthy table: counts as the kernel has them, nothing found"
$in_busy "$helpers/ctfill" 20000 assured 10.1.0.0 3600 100 >/dev/null
$in_quiet "$helpers/ctfill" 30 replied >/dev/null
watch ":" --by dport
want_that "nothing is found: $(found)" [ -z "$(found)" ]
want_that "count" [ "$(of_row "$busy" count)" = "$(count_of "$busy")" ]
want_that "the other one's" [ "$(of_row "$quiet" count)" = 30 ]
want_that "max" [ "$(of_row "$busy" max)" = "$max" ]
want_that "all of them dumped" [ "$(of_row "$busy" flows)" = 20010 ]
want_that "assured" [ "$(of_row "$busy" assured)" = 20010 ]
run "$PERFBOX" conntrack-top -N "$busy" --by src --tsv --columns src,flows,assured,unreplied --no-header 0.3 1
want_match out '^[^	]*	10\.1\.0\.[0-9]+	100	100	0$|^10\.1\.0\.[0-9]+	100	100	0$'
run "$PERFBOX" conntrack-top -N "$busy" -s 10.1.0.7 -p udp --dport 53 --table conntrack --tsv --columns flows --no-header 0.3 1
want_match out '(^|	)100$'
run "$PERFBOX" conntrack-top -N "$busy" -s 10.1.0.7 -p tcp --table conntrack --tsv --columns flows --no-header 0.3 1
want_match out '(^|	)0$'

begin "what it printed live is what the saved run prints"
run "$PERFBOX" conntrack-top -N "$busy" --by src,dport --save "$work/saved" 1 2
cp "$out" "$work/live"
run "$PERFBOX" conntrack-top -N "$busy" --by src,dport --root "$work/saved"
want_that "the same" cmp "$out" "$work/live"

begin "flows that begin are counted, those whose event was lost as well"
if [ -z "$has_nft" ]; then
	skip_test "no nft: nothing makes the namespace track"
elif [ "$max" -lt $roomy ]; then
	skip_test "50,000 flows nearly fill a table of $max"
else
	watch "$in_busy $helpers/spray 30000 127.1.0.0"
	want_that "a busy table is no trouble: $(found)" [ -z "$(found)" ]
	want_that "30,000 in about 4 s: $(of_row "$busy" new_per_second)" near "$(of_row "$busy" new_per_second)" 7500 800
	want_that "none elsewhere: $(of_row "$quiet" new_per_second)" near "$(of_row "$quiet" new_per_second)" 0 0
	run "$PERFBOX" conntrack-top -N "$busy" --no-events --json --table conntrack 0.3 1
	want_match out '"new_per_second":null'
fi

begin "near full: 92 %"
empty
$in_busy "$helpers/ctfill" $((max * 92 / 100)) assured >/dev/null
watch ":"
want_that "found: $(found)" [ "$(found)" = "conntrack-top.near-full risk $busy;" ]
want_that "count" [ "$(evidence conntrack-top.near-full count)" = $((max * 92 / 100)) ]
want_that "max" [ "$(evidence conntrack-top.near-full max)" = "$max" ]

begin "full: all assured, packets are dropped; the other namespace with the same max goes on"
if [ -z "$has_nft" ]; then
	skip_test "no nft: nothing makes the namespace track"
else
	$in_busy "$helpers/ctfill" $((max - max * 92 / 100)) assured 11.0.0.0 >/dev/null
	before=$(stat_of "$busy" drop)
	watch "$in_busy $helpers/spray 2000 127.2.0.0; $in_quiet $helpers/spray 100 127.2.0.0"
	after=$(stat_of "$busy" drop)
	want_match "$work/happened" '^sent 0 refused 2000$'
	want_match "$work/happened" '^sent 100 refused 0$'
	want_that "found: $(found)" [ "$(found)" = "conntrack-top.full now $busy;" ]
	want_that "drop as counted by hand: $((after - before))" [ "$(evidence conntrack-top.full drop)" = $((after - before)) ]
	want_that "at least the 2,000 sent" [ "$((after - before))" -ge 2000 ]
	want_that "count" near "$(evidence conntrack-top.full count)" "$max" $((max / 1000))
	want_that "what is needed is more" [ "$(evidence conntrack-top.full need_low | cut -d. -f1)" -ge $((max - max / 1000)) ]
	run timeout 60 $in_busy "$PERFBOX" triage 1
	want_unlike out '^now +conntrack-top.full'
	want_match out 'near-full'
fi

begin "early drop, and who floods: unanswered flows make room for new ones"
if [ -z "$has_nft" ]; then
	skip_test "no nft: nothing makes the namespace track"
else
	empty
	$in_busy "$helpers/spray" "$max" 127.4.0.0 >/dev/null
	before=$(stat_of "$busy" early_drop)
	watch "$in_busy $helpers/spray 2000 127.200.0.0; $in_quiet $helpers/spray 500 127.2.0.0"
	after=$(stat_of "$busy" early_drop)
	want_match "$work/happened" '^sent 2000 refused 0$'
	want_that "found: $(found)" [ "$(found)" = "conntrack-top.early-drop now $busy;conntrack-top.unassured-flood risk $busy;" ]
	want_that "as counted by hand: $((after - before))" near "$(evidence conntrack-top.early-drop early_drop)" $((after - before)) 5
	want_match "$work/findings" '"subject":"from 127.0.0.1"'
	want_that "nearly all are unreplied" near "$(evidence conntrack-top.unassured-flood of_subject)" "$max" $((max / 50))
fi

begin "clash: SNAT without a free port at a nearly empty table is not a full table"
rm -f "$work/happened"
# two ends of a link, and NAT between them
set_up_nat()
{
	[ -n "$has_nft" ] || return 1
	empty
	ip link add ct-a netns "$busy" type veth peer name ct-b netns "$peer" || return 1
	ip -n "$busy" addr add 10.77.0.1/24 dev ct-a
	ip -n "$busy" addr add 10.77.0.9/24 dev ct-a
	ip -n "$busy" link set ct-a up
	ip -n "$peer" addr add 10.77.0.2/24 dev ct-b
	ip -n "$peer" link set ct-b up
	$in_busy nft 'add table ip n; add chain ip n p { type nat hook postrouting priority 100; };
		add rule ip n p udp dport 53 snat to 10.77.0.1:2000-2009; add rule ip n p udp dport 54 snat to 10.77.0.9'
}
if ! set_up_nat 2>"$work/nat"; then
	skip_test "no nft with NAT, or no veth: $(head -n 1 "$work/nat")"
else
	watch "$in_busy $helpers/spray -p 40 10.77.0.2 53 10.77.0.1"
	want_match "$work/happened" '^sent [0-9]+ refused [1-9]'
	want_that "found: $(found)" [ "$(found)" = "conntrack-top.clash now $busy;portrange.snat now $busy;" ]
	want_match "$work/findings" '"subject":"10.77.0.1 to 10.77.0.2:53/udp"'
	want_that "the rule's ten ports" [ "$(evidence portrange.snat ports_used),$(evidence portrange.snat ports_usable)" = 10,10 ]
	refused=$(sed -n 's/.*refused //p' "$work/happened")
	want_that "insert_failed is what was refused" [ "$(evidence conntrack-top.clash insert_failed)" = "$refused" ]
	want_that "and so is drop" [ "$(evidence conntrack-top.clash drop)" = "$refused" ]

	begin "SNAT: one address has most of its ports in use to one destination, and hardly any to another"
	if [ "$max" -lt $roomy ]; then
		skip_test "56,000 flows nearly fill a table of $max"
	else
		$in_busy "$helpers/spray" -p 56000 10.77.0.2 54 10.77.0.1 >/dev/null
		$in_busy nft flush chain ip n p
		$in_busy nft add rule ip n p udp dport 54-55 snat to 10.77.0.9
		$in_busy "$helpers/spray" -p 5 10.77.0.2 55 10.77.0.1 >/dev/null
		watch ":" --by nat,dst,dport
		want_that "found: $(found)" [ "$(found)" = "portrange.snat risk $busy;" ]
		want_that "ports: $(evidence portrange.snat ports_used)" near "$(evidence portrange.snat ports_used)" 56000 10
		want_match "$work/findings" '"subject":"10.77.0.9 to 10.77.0.2:54/udp"'
	fi

	begin "a rule drops invalid packets and counts them; where none does, they are a row"
	empty
	$in_quiet "$helpers/spray" -i 2000 127.0.0.1 >/dev/null
	$in_busy nft 'add table inet f; add chain inet f i { type filter hook input priority 0; };
		add rule inet f i ct state invalid counter drop'
	before=$(stat_of "$busy" invalid)
	watch "$in_busy $helpers/spray -i 3000 127.0.0.1; $in_quiet $helpers/spray -i 3000 127.0.0.1"
	after=$(stat_of "$busy" invalid)
	want_that "found: $(found)" [ "$(found)" = "conntrack-top.invalid now $busy;" ]
	want_that "invalid as counted by hand: $((after - before))" [ "$(evidence conntrack-top.invalid invalid)" = $((after - before)) ]
	dropped=$($in_busy nft list chain inet f i | sed -n 's/.*counter packets \([0-9]*\) .*/\1/p')
	want_that "dropped as the rule counted: $dropped" [ "$(evidence conntrack-top.invalid dropped)" = "$dropped" ]
fi

begin "counts alone take nothing away; a dump reaps what has expired"
empty
$in_busy "$helpers/ctfill" 3000 assured 10.0.0.0 1 >/dev/null
sleep 2.2
if [ "$(count_of "$busy")" -lt 2000 ]; then
	skip_test "the kernel was faster: $(count_of "$busy") left"
else
	before=$(count_of "$busy")
	run timeout 60 $in_busy "$PERFBOX" triage 0.5
	run timeout 60 $in_busy "$PERFBOX" conntrack-top --statistics 0.3 1
	after=$(count_of "$busy")
	if [ "$after" -lt 1000 ]; then
		skip_test "the kernel reaped them meanwhile: $after of $before left"
	else
		run timeout 60 $in_busy "$PERFBOX" conntrack-top 0.3 1
		want_that "gone: $(count_of "$busy")" [ "$(count_of "$busy")" -lt 100 ]
	fi
fi

finish
