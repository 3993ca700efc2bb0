#!/bin/sh
# What measuring off-CPU time adds to a context switch: `perf bench sched pipe` on one CPU, alone and beside each command in turn.
# Prints "NAME US" lines, medians of ROUNDS: time of an operation (two switches); and "rss NAME KIB", "attach NAME MS".
set -u
ROUNDS=${ROUNDS:-5}
OPERATIONS=${OPERATIONS:-100000}
work=$(mktemp -d) || exit 1
cpu=$(($(nproc) - 1))
sleep 600 &
other=$!
trap 'kill $other 2>/dev/null; rm -rf "$work"' EXIT

# commands NAME: what runs beside it
command_of()
{
	case $1 in
	all) echo "$PERFBOX offcpu -q -f 600" ;;
	least) echo "$PERFBOX offcpu -q -f -m 1000 600" ;;
	least-kernel) echo "$PERFBOX offcpu -q -f -m 1000 --kernel-only 600" ;;
	other) echo "$PERFBOX offcpu -q -f -p $other 600" ;;
	peer) echo "offcputime 600" ;;
	peer-least) echo "offcputime -m 1000 600" ;;
	esac
}

one()
{
	pid=
	if [ "$1" != none ]; then
		$(command_of "$1") >"$work/out" 2>/dev/null &
		pid=$!
		sleep 1
		kill -0 $pid 2>/dev/null || return
	fi
	taskset -c $cpu perf bench sched pipe -l "$OPERATIONS" 2>/dev/null | awk '/usecs\/op/ { print $1 }' >>"$work/$1"
	[ -z "$pid" ] || {
		awk '/^VmRSS/ { print $2 }' /proc/$pid/status >>"$work/rss.$1"
		kill -TERM $pid
		wait $pid 2>/dev/null
	}
}

median() { sort -n "$1" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

names='none all peer least peer-least least-kernel other'
command -v offcputime >/dev/null || names='none all least least-kernel other'
i=0
while [ $i -lt "$ROUNDS" ]; do
	for name in $names; do
		one "$name"
	done
	i=$((i + 1))
done
for name in $names; do
	[ ! -s "$work/$name" ] || echo "$name $(median "$work/$name")"
	[ ! -s "$work/rss.$name" ] || echo "rss $name $(median "$work/rss.$name")"
done
