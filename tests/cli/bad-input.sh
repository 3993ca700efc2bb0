# Kernel files that are missing, empty, cut or garbled: the value is unknown, the row stays, stderr names the file once,
# status 3 unless something was found. The trees are tests/fixtures/garbled-*.py and missing-files.py.
. "$repo/tests/lib.sh"

begin "schedstat of a thread: its row stays, its wait is unknown"
run "$PERFBOX" cpuwait --root "$trees/garbled-thread"
want_status 3
want_match err '/proc/900/task/900/schedstat'
for name in no-newline two-numbers empty letters overflow negative; do
	want_match out "^ *90[0-9] +90[0-9] +4\.0 +0\.0 +- +- +- +- .* $name "
done
want_match out "^ *906 +906 +4\.0 +0\.0 +5\.0 +0\.0 +5\.0 .* whole "
want_match out '0 started, 0 exited'
want_that "once" [ "$(grep -c 900/schedstat "$err")" = 1 ]

begin "stat of a thread: nobody started or exited, its row stays"
run "$PERFBOX" cpuwait -a --root "$trees/garbled-stat"
want_status 3
want_match err '/proc/910/task/910/stat'
want_match out '0 started, 0 exited'
for tid in 910 911 912 913 914 915; do
	want_match out "^ *$tid +$tid "
done

begin "cpu.stat of a group: unknown, not 0, and no finding from it"
run "$PERFBOX" cpuwait --root "$trees/garbled-cgroup"
want_status 1
for group in letters empty backwards; do
	want_match out "^/$group +0\.10 +0\.10 +(-|[0-9.]+) +- +- +- "
done
want_match out '^/cut +0\.10 +0\.10 +0\.10 +10 +10 +- '
want_match out '^/overflow +0\.10 +0\.10 +(-|[0-9.]+) +10 +10 +- '
want_match out '^/no-period +- +- +0\.10 +10 +10 +0\.90 '
want_unlike out 'throttled +/(letters|cut|empty|overflow|backwards)'
want_unlike out 'nan'
want_match out 'now   cpuwait.throttled  /whole'

begin "... the files are named"
for group in letters empty; do
	want_match err "/sys/fs/cgroup/$group/cpu\.stat"
	want_that "$group once" [ "$(grep -c "/$group/cpu.stat" "$err")" = 1 ]
done
want_match err '/sys/fs/cgroup/no-period/cpu\.max'

begin "... and of a wait in such a group nobody can say what it was"
for tid in 920 922 924; do
	want_match out "^ *$tid +$tid +10\.0 +0\.0 +90\.0 +- +- "
done

begin "/proc/stat: the host's numbers are unknown, not 0; threads are shown; nothing odd comes afterwards"
run "$PERFBOX" cpuwait --root "$trees/garbled-proc-stat"
want_status 3
want_match err '/proc/stat'
want_lines err 1
want_unlike out '(usable|of) 0 CPU|running 0|[0-9]/s switches'
want_unlike out 'user [0-9]'
want_that "rows in both reports" [ "$(grep -c ' works ' "$out")" = 2 ]
run "$PERFBOX" cpuwait --root "$trees/garbled-proc-stat" --json --table host
want_unlike out '"(running|online_count|switches_per_second|idle_ratio)":[0-9]'

begin "missing files: unknown, named, 3"
run "$PERFBOX" cpuwait --root "$trees/missing-files"
want_status 3
want_match err '/proc/stat'
want_match err '/proc/pressure/cpu: Permission denied'
want_match err '/sys/fs/cgroup/job/cpu\.stat'
want_match out '^/job +0\.50 +0\.50 +(-|[0-9.]+) +- +- +- '
want_match out ' works '

begin "a manifest with lines that make no sense: file and line, 3; the rest is used"
run "$PERFBOX" cpuwait --root "$trees/garbled-manifest"
want_status 3
want_match err '000001/manifest line 2:'
want_match out ' works '

begin "any file cut at any byte: no crash, no nonsense"
count=0
for file in proc/stat proc/700/task/700/stat proc/700/task/700/schedstat proc/self/mountinfo manifest; do
	for size in 0 1 7 20; do
		rm -rf "$work/cut"
		cp -r "$trees/idle-v2" "$work/cut"
		for path in "$work/cut/000001"/$file; do
			head -c $size "$path" >"$work/part" && cp "$work/part" "$path"
		done
		run timeout 10 "$PERFBOX" cpuwait -a --json --root "$work/cut"
		want_that "$file cut at $size: status $status" [ "$status" = 3 -o "$status" = 0 ]
		want_unlike out ':(nan|inf|-)'
		count=$((count + 1))
	done
done
want_that "20 of them" [ $count = 20 ]

finish
