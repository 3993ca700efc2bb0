# --redact: no name of host, user, command, control group, container or pod is left in any format.
. "$repo/tests/lib.sh"

# tree, then words that must not be there
check()
{
	tree=$1
	shift
	for format in '' --json --openmetrics '--tsv --table threads' '--tsv --table cgroups' '--tsv --table host' \
		'--tsv --table findings' '--by process' '--past' '-v'; do
		run "$PERFBOX" cpuwait --root "$trees/$tree" --redact $format
		want_that "$format: status $status" [ "$status" -le 1 ]
		want_that "$format: it printed" [ -s "$out" ]
		for word in "$@"; do
			want_unlike out "$word"
			want_unlike err "$word"
		done
	done
}

begin "names of a container host"
check hybrid dock-3 java light 4f2a91c0b7de spare

begin "names of a Kubernetes node: pods, namespaces, containers, ids"
check kubepods-throttled k8s-node-11 shop prod api-5d4 0f1e2d3c 'java' 'pool-1' '49002d515d16' '5feceb66ffc8' sshd

begin "names of groups on the way, and of the group that limits"
check v2-nested-local node-1 web worker batch '/app' '/pin'

begin "names that people might not print"
check hostile-names 'new.{0,4}line' 'tab.{0,4}bed' 'uote' 'slash' 'utf8' 'gnp' 'caf' 'tab.{0,4}group' '2J' '[$][(]id' '%1000d'

begin "names in what could not be read"
run "$PERFBOX" cpuwait --root "$trees/missing-files" --redact
want_status 3
want_unlike err '/job'
want_unlike out 'works|/job'

begin "same name, same pseudonym, in every table and in two runs of one boot"
"$PERFBOX" cpuwait --root "$trees/hybrid" --redact --json >"$work/first.json" || :
"$PERFBOX" cpuwait --root "$trees/hybrid" --redact --json >"$work/second.json" || :
want_that "two runs" cmp "$work/first.json" "$work/second.json"
subject=$(sed -n 's/.*"table":"findings".*"subject":"\([^"]*\)".*/\1/p' "$work/first.json")
want_that "a subject" [ -n "$subject" ]
want_that "subject, thread and group read the same ($subject)" [ "$(grep -c "\"cgroup\":\"$subject\"" "$work/first.json")" = 3 ]

begin "another boot, other pseudonyms"
cp -r "$trees/hybrid" "$work/reboot"
for frame in "$work"/reboot/0*; do
	echo 01234567-89ab-4cde-8f01-23456789abcd >"$frame/proc/sys/kernel/random/boot_id"
done
"$PERFBOX" cpuwait --root "$work/reboot" --redact --json >"$work/other.json" || :
want_that "they differ" sh -c "! cmp -s '$work/first.json' '$work/other.json'"
want_unlike "$work/other.json" "$subject"

begin "different names stay different, numbers stay"
"$PERFBOX" cpuwait --root "$trees/kubepods-throttled" --tsv --no-header --columns comm,cgroup >"$work/plain" || :
"$PERFBOX" cpuwait --root "$trees/kubepods-throttled" --tsv --no-header --columns comm,cgroup --redact >"$work/hidden" || :
for field in 2 3; do
	want_that "as many names in field $field" [ "$(cut -f $field "$work/plain" | sort -u | wc -l)" = "$(cut -f $field "$work/hidden" | sort -u | wc -l)" ]
done
"$PERFBOX" cpuwait --root "$trees/kubepods-throttled" --tsv --no-header --columns tid,wait_ns,run_ns >"$work/plain" || :
"$PERFBOX" cpuwait --root "$trees/kubepods-throttled" --tsv --no-header --columns tid,wait_ns,run_ns --redact >"$work/hidden" || :
want_that "numbers" cmp "$work/plain" "$work/hidden"

begin "this host: neither its name nor any thread's name longer than three letters"
run "$PERFBOX" cpuwait -a --json --redact 0.2 1
for name in $(uname -n) $(cat /proc/[0-9]*/comm 2>/dev/null | grep -Ex '[A-Za-z0-9_./:-]{5,}' | sort -u | head -n 50); do
	name=$(echo "$name" | sed 's/[.[\*^$+?(){|]/\\&/g')
	want_unlike out "\"(comm|host)\":\"$name\""
done

begin "with --save it is refused: what is kept is not redacted"
run "$PERFBOX" cpuwait --redact --save "$work/run" 0.1 1
want_status 2
want_lines err 1
want_that "nothing was made" [ ! -e "$work/run" ]

finish
