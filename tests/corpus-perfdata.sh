#!/bin/sh
# Recordings that others made, against the text perf printed of them there: sample by sample, and the names of the
# recorded program, whose file lies beside them. make corpus CORPUS=DIR; without CORPUS it is skipped.
# One line each, "ok NAME" or "FAIL NAME" with the difference; status 1 if any failed.
set -u
LC_ALL=C
export LC_ALL
cd "$(dirname "$0")/.." || exit 1
O=${O:-build}
PERFBOX=${PERFBOX:-$O/perfbox}
oracle=$O/tests/unit/perforacle
failed=0

if [ -z "${CORPUS:-}" ] || [ ! -d "$CORPUS/generated" ]; then
	echo "skip corpus-perfdata: CORPUS names no folder with recordings (make corpus CORPUS=DIR)"
	exit 0
fi
[ -x "$oracle" ] || { echo "corpus-perfdata: $oracle is not built" >&2; exit 1; }
work=$(mktemp -d "${TMPDIR:-/tmp}/perfbox-corpus.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT

verdict()
{
	if [ "$2" -eq 0 ]; then
		echo "ok $1"
	else
		echo "FAIL $1"
		sed -e 's/^/    /' -e 20q "$work/why" | cut -c 1-300
		failed=1
	fi
}

symfs=$work/symfs
mkdir -p "$symfs/usr/local/lib/flamefold-corp"
cp "$CORPUS/generated/t" "$symfs/usr/local/lib/flamefold-corp/t"

# From perf's text, one event: functions of t.c by name, others as "-"; weights. Runs of "-" are one: a frame of the
# kernel or the C library more or less is not what this is about (dumps are unwound through the recorded library,
# which is not here), and their addresses were compared already.
names_by_perf()
{
	awk -v want="$2" '
		function flush() {
			if (comm != "" && event == want)
				sum[comm stack] += weight
			comm = stack = ""
		}
		/^[ ]*$/ { flush(); next }
		/^\t/ {
			name = "-"
			if ($2 ~ /^(main|rec|mid|leaf)\+0x[0-9a-f]+$/) {
				name = $2
				sub(/\+.*/, "", name)
			}
			stack = ";" name stack
			next
		}
		{
			flush()
			match($0, / [0-9]+\.[0-9]+: /)
			comm = substr($0, 1, RSTART - 1)
			split(substr($0, RSTART + RLENGTH), word)
			sub(/ +[0-9\/]+ *$/, "", comm)
			sub(/^ +/, "", comm)
			gsub(/ /, "_", comm)
			weight = word[1]
			event = word[2]
			sub(/:$/, "", event)
		}
		END {
			flush()
			for (s in sum)
				printf "%s %d\n", s, sum[s]
		}' "$1" | only_known
}

only_known()
{
	sed -E -e 's/;(-;)*/;/g' -e 's/;- /; /' | awk '
		{ n[substr($0, 1, length($0) - length($NF) - 1)] += $NF }
		END { for (s in n) printf "%s %d\n", s, n[s] }' | sort
}

# Ours, the same way.
names_by_us()
{
	"$PERFBOX" flamefold --symfs "$symfs" --event "$2" "$1" 2>"$work/err" | awk '
		{
			weight = $NF
			sub(/ [0-9]+$/, "")
			n = split($0, frame, ";")
			line = frame[1]
			for (i = 2; i <= n; i++)
				line = line ";" (frame[i] ~ /^(main|rec|mid|leaf)$/ ? frame[i] : "-")
			print line, weight
		}' | only_known
}

for data in "$CORPUS"/generated/*.data; do
	name=${data##*/}
	text=${data%.data}.script.txt
	[ -e "$text" ] || continue
	"$oracle" "$data" "$text" >"$work/why" 2>&1
	verdict "generated/$name, samples" $?
	case $name in
	# without stacks, or without this event
	tp.data | nochain.data) continue ;;
	esac
	names_by_perf "$text" cpu-clock >"$work/theirs"
	names_by_us "$data" cpu-clock >"$work/ours"
	[ -s "$work/theirs" ] && diff "$work/theirs" "$work/ours" >"$work/why"
	verdict "generated/$name, names" $?
done

# kept NAME SAMPLES TEXT: of a damaged one all that is whole, and why there is no more
kept()
{
	"$PERFBOX" flamefold --weight samples "$CORPUS/generated/$1" >"$work/got" 2>"$work/why"
	status=$?
	got=$(awk '{ n += $NF } END { print n + 0 }' "$work/got")
	echo "$got samples, status $status" >>"$work/why"
	[ "$got" -eq "$2" ] && [ $status -eq 3 ] && grep -q "$3" "$work/why"
	verdict "generated/$1" $?
}
kept trunc-half.data 15 'at byte 5168: cut inside a record'
kept recsize0.data 0 'at byte 264: a record of 0 bytes'

# their attributes are newer than perf 6.1 takes, and records of type 83 are
for pair in sleep.data:7 sleep.compressed.data:8 sleep.compressed2.pipe.data:7; do
	"$PERFBOX" flamefold --weight samples "$CORPUS/compressed/${pair%:*}" 2>"$work/why" >"$work/got"
	status=$?
	got=$(awk '{ n += $NF } END { print n + 0 }' "$work/got")
	echo "$got samples, status $status" >>"$work/why"
	[ $status -eq 0 ] && [ "$got" -eq "${pair#*:}" ]
	verdict "compressed/${pair%:*}" $?
done
exit $failed
