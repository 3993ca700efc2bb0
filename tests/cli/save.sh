# --save and --root: what is kept, where it may not be kept, and that replaying shows the same.
. "$repo/tests/lib.sh"

begin "a saved run is private, and replays to the same rows, live and again"
run "$PERFBOX" cpuwait -a --json --save "$work/run" 0.3 2
want_that "status 0, 1 or 3" [ "$status" -ne 2 ]
cp "$out" "$work/live.json"
want_that "mode 0700" [ "$(stat -c %a "$work/run")" = 700 ]
want_that "nothing in it is for others" [ -z "$(find "$work/run" -perm /077 | head -n 1)" ]
want_that "three frames" [ -d "$work/run/000000" ]
want_that "three frames" [ -d "$work/run/000002" ]
want_that "not four" [ ! -e "$work/run/000003" ]
want_match "$work/run/manifest" '^perfbox-save 1$'
want_that "it says on what it was made" [ -s "$work/run/environment" ]
live_status=$status
run "$PERFBOX" cpuwait -a --json --root "$work/run"
want_status "$live_status"
want_that "the same bytes" cmp "$out" "$work/live.json"
run "$PERFBOX" cpuwait -a --json --root "$work/run"
want_that "and again" cmp "$out" "$work/live.json"

begin "replaying needs nothing of this host and no time"
start=$(date +%s)
run "$PERFBOX" cpuwait --json --root "$trees/pending-wait" 100
want_status 1
want_that "500 s in less than 5" [ $(($(date +%s) - start)) -lt 5 ]

begin "a folder that is not empty is left alone: 3, before the first interval"
mkdir "$work/full"
echo mine >"$work/full/file"
run "$PERFBOX" cpuwait --save "$work/full" 0.1 1
want_status 3
want_lines err 1
want_match err 'full.*not empty'
want_empty out
want_that "nothing was added" [ "$(ls "$work/full")" = file ]

begin "an empty folder of ours is taken, and made private"
mkdir -m 755 "$work/mine"
run "$PERFBOX" cpuwait -q --save "$work/mine" 0.1 1
want_that "saved" [ -e "$work/mine/000001/proc/stat" ]
want_that "mode 0700" [ "$(stat -c %a "$work/mine")" = 700 ]

begin "a symbolic link is refused, with and without a slash behind"
mkdir "$work/target"
ln -s target "$work/link"
for name in link link/ link//; do
	run "$PERFBOX" cpuwait --save "$work/$name" 0.1 1
	want_status 3
	want_lines err 1
	want_match err 'link'
	want_that "nothing in its target" [ -z "$(ls "$work/target")" ]
done
ln -s nowhere "$work/dangling"
run "$PERFBOX" cpuwait --save "$work/dangling" 0.1 1
want_status 3
want_that "nothing was made" [ ! -e "$work/nowhere" ]

begin "a folder whose parent is not there, or is a file: 3 and one line"
: >"$work/plain"
for name in none/run plain/run plain /proc/perfbox-run; do
	case $name in /*) ;; *) name=$work/$name ;; esac
	run "$PERFBOX" cpuwait --save "$name" 0.1 1
	want_status 3
	want_lines err 1
	want_empty out
done

begin "a folder that may not be written, or is somebody else's"
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	chmod 711 "$work"
	mkdir -m 755 "$work/roots"
	mkdir -m 777 "$work/open"
	cp "$PERFBOX" "$work/perfbox" && chmod 755 "$work/perfbox"
	for name in roots/run roots open; do
		run setpriv --reuid 65534 --regid 65534 --clear-groups "$work/perfbox" cpuwait -a --save "$work/$name" 0.1 1
		want_status 3
		want_lines err 1
		want_match err "$name"
	done
	want_that "nothing was left" [ -z "$(ls "$work/roots" "$work/open" | grep -v : )" ]
elif [ "$(id -u)" = 0 ]; then
	skip_test "root, and no setpriv"
else
	run "$PERFBOX" cpuwait --save /perfbox-test-run 0.1 1
	want_status 3
	want_lines err 1
fi

begin "a full disk: 3, one line that names the frame; it and what follows are not there, what is there is whole"
mkdir "$work/small"
if [ "$(id -u)" = 0 ] && unshare -m mount -t tmpfs none "$work/small" 2>/dev/null; then
	for size in 64k 3m; do
		rm -f "$work/left" "$work/status"
		run unshare -m sh -c 'mount -t tmpfs -o size=$1 none "$2/small" || exit 9
			"$0" cpuwait -a -q --save "$2/small/run" 0.05 60 >"$2/rows"; echo $? >"$2/status"
			cd "$2/small/run" && ls -d 0* >"$2/left"; find . -name manifest -size 0 -path "./0*"' "$PERFBOX" $size "$work"
		want_that "$size: status 3" [ "$(cat "$work/status")" = 3 ]
		want_that "$size: one line" [ "$(grep -c '^perfbox' "$err")" = 1 ]
		want_match err 'not kept from frame [0-9]{6} on.*space'
		frame=$(sed -n 's/.*from frame \([0-9]*\) on.*/\1/p' "$err")
		want_that "$size: as many whole frames as it says ($frame)" [ "$(wc -l <"$work/left")" -eq "$(echo "$frame" | sed 's/^0*\(.\)/\1/')" ]
		want_empty out
	done
	want_that "some frames did fit" [ -s "$work/left" ]
else
	skip_test "needs root and a tmpfs of its own"
fi

begin "--workload is kept beside it"
run "$PERFBOX" cpuwait -q --save "$work/load" --workload 'qps=189,errors=1910,p99_ms=812' 0.1 1
want_match "$work/load/workload" 'qps=189,errors=1910,p99_ms=812'

begin "a run that was cut off replays as far as it goes, and says so"
cp -r "$work/run" "$work/cut"
rm -r "$work/cut/000002"
run "$PERFBOX" cpuwait --json --root "$work/cut"
want_that "fewer rows, not none" [ "$(wc -l <"$out")" -gt 0 ]
rm -r "$work/cut/000001"
run "$PERFBOX" cpuwait --json --root "$work/cut"
want_status 3

begin "a tree with devices, pipes and links that lead out: nothing is opened outside it, nothing blocks"
cp -r "$trees/idle-v2" "$work/evil"
rm "$work/evil/000001/proc/stat" "$work/evil/000001/proc/700/task/700/schedstat"
mkfifo "$work/evil/000001/proc/stat"
ln -s ../../../../../../../../../../proc/self/stat "$work/evil/000001/proc/700/task/700/schedstat"
run timeout 10 "$PERFBOX" cpuwait --root "$work/evil"
want_status 3
ln -sfn / "$work/evil/000001/proc/700/task/700/schedstat"
run timeout 10 "$PERFBOX" cpuwait --root "$work/evil"
want_status 3
ln -sfn loop "$work/evil/000001/proc/loop"
ln -sfn loop "$work/evil/000001/proc/700/task/700/schedstat"
run timeout 10 "$PERFBOX" cpuwait --root "$work/evil"
want_status 3

finish
