# What was typed wrong: one line on stderr that names it, nothing on stdout, status 2. What is not there: 3.
. "$repo/tests/lib.sh"

# refused PATTERN COMMAND...
refused()
{
	pattern=$1
	shift
	run "$PERFBOX" "$@"
	want_status 2
	want_empty out
	want_lines err 1
	want_match err "$pattern"
	want_match err 'help'
	want_match err '^perfbox'
}

begin "an unknown applet, and the closest one"
refused "cpuwiat.*did you mean 'cpuwait'" cpuwiat
refused "triagge.*did you mean 'triage'" triagge 5
refused 'xyzzyplugh' xyzzyplugh
run "$PERFBOX" xyzzyplugh
want_unlike err 'did you mean'
refused "''" ''

begin "an unknown option of perfbox"
refused "--lsit.*did you mean '--list'" --lsit
refused "'-x'|-x" -x

begin "an unknown option of an applet, and the closest one"
refused "--jsno.*did you mean '--json'" cpuwait --jsno
refused "--byy.*did you mean '--by'" cpuwait --byy process
refused "'?-Z'?" cpuwait -Z
refused "--cgroups.*did you mean '--cgroup'" cpuwait --cgroups /x
refused "'--json'|--json" cpuwait --json=yes
refused '--frobnicate' cpuwait --frobnicate

begin "an option without its value, or with one it can't have"
refused '(-p|--pid)' cpuwait -p
refused '--by.*thread|process' cpuwait --by tread
refused "(-G|--cgroup)" cpuwait -G
refused '--state.*soon' cpuwait --state now,soon

begin "numbers that are none"
for number in x1 1x '' ' ' 1.5 0x10 +1 -1 1e3 99999999999999999999 1,,2 , 1,x; do
	refused "-p|--pid" cpuwait -p "$number"
done
for number in x '' -5 1x 99999999999999999999; do
	refused '--top' cpuwait --top "$number"
done

begin "intervals and counts that are none"
for interval in x 0 -1 0.0000001 1.2.3 nan inf 1e3 99999999999999999999; do
	refused "$interval|interval" cpuwait "$interval"
done
for count in x 0 -1 1.5 99999999999999999999; do
	refused "count|$count" cpuwait 1 "$count"
done
refused 'surplus' cpuwait 1 1 surplus

begin "choices that exclude each other"
refused '--json' cpuwait --json --tsv
refused '--workload' cpuwait --workload qps=1
refused '--save.*--root|--root.*--save' cpuwait --save "$work/s" --root "$trees/idle-v2"
want_that "no folder was made" [ ! -e "$work/s" ]

begin "tables and columns that do not exist, and the closest one"
refused "thread.*did you mean 'threads'" cpuwait --table thread
refused "wait_ration.*did you mean 'wait_ratio'" cpuwait --columns tid,wait_ration
refused 'comn' cpuwait --sort comn
refused 'columns|,' cpuwait --columns ''

begin "a pattern that is none"
refused '-C' cpuwait -C '['

begin "names typed with control bytes do not reach the terminal as they are"
run "$PERFBOX" "$(printf 'cpu\033[2J')"
want_status 2
want_unlike err "$(printf '\033')"
run "$PERFBOX" cpuwait "--$(printf 'x\033]0;y\007')"
want_status 2
want_unlike err "$(printf '\033')"

# not_there PATTERN COMMAND...
not_there()
{
	pattern=$1
	shift
	run "$PERFBOX" "$@"
	want_status 3
	want_empty out
	want_lines err 1
	want_match err "$pattern"
}

begin "a process or thread that does not exist: 3, at once"
not_there '4194304' cpuwait -p 4194304 0.1 1
not_there '4194304' cpuwait --tid 4194304 0.1 1
not_there '99999999999' cpuwait -p 99999999999 0.1 1

begin "one of two processes does not exist: rows of the other, and 3"
run "$PERFBOX" cpuwait -a -p $$,4194304 0.1 1
want_status 3
want_lines err 1
want_match err '4194304'
want_match out "^ *$$ "

begin "a control group that does not exist: 3"
not_there '/perfbox/no/such/group' cpuwait -G /perfbox/no/such/group 0.1 1

begin "a folder that is no saved run, or not there: 3"
not_there '/nowhere' cpuwait --root "$work/nowhere"
: >"$work/file"
not_there "file" cpuwait --root "$work/file"
mkdir "$work/empty"
run "$PERFBOX" cpuwait --root "$work/empty"
want_status 3
want_match err '/proc'

begin "a run saved by a later version: 3, and says so"
mkdir "$work/later"
echo 'perfbox-save 9' >"$work/later/manifest"
not_there 'manifest.*version' cpuwait --root "$work/later"

begin "one frame only: rates need two; 3 and no finding"
mkdir "$work/one"
cp -r "$trees/v2-nested-local/000001/." "$work/one"
run "$PERFBOX" cpuwait --root "$work/one"
want_status 3
want_match err 'one frame'
want_unlike out 'cpuwait.throttled'
want_match out '^/pin +0\.10 +0\.10 +- +- '

finish
