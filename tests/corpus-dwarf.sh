#!/bin/sh
# A recording with stack dumps and the static program it is of, against what another unwinder made of it: the same
# source lines, inlined functions among them, stack by stack; one sample is left out, see
# tests/corpus-differences.md. make corpus CORPUS=DIR; without CORPUS it is skipped.
set -u
LC_ALL=C
export LC_ALL
cd "$(dirname "$0")/.." || exit 1
O=${O:-build}
PERFBOX=${PERFBOX:-$O/perfbox}
input=${CORPUS:-}/dwarf/vector_static_gcc
recorded=/home/milian/projects/kdab/rnd/hotspot/3rdparty/perfparser/tests/auto/perfdata/vector_static_gcc

if [ -z "${CORPUS:-}" ] || [ ! -f "$input/perf.data" ]; then
	echo "skip corpus-dwarf: CORPUS names no folder with recordings (make corpus CORPUS=DIR)"
	exit 0
fi
work=$(mktemp -d "${TMPDIR:-/tmp}/perfbox-corpus.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/symfs$recorded"
cp "$input/vector_static_gcc_v9.1.0" "$work/symfs$recorded/"

# Two lines for each frame, innermost first: address and source line ("0 0" at the end), then its function. Kernel
# frames and those without a function are left out.
lines_expected()
{
	awk -F '\t' '
		function flush() { if (stack != "") print stack; stack = "" }
		/^[^\t]/ { flush(); next }
		/\t0 0$/ {
			split($2, word, " ")
			is_kernel = word[1] ~ /^ffff/
			line = "-"
			if (NF == 4 && $3 ~ /:[0-9]+:[0-9]+$/) {
				line = $3
				sub(/:[0-9]+$/, "", line)
				sub(/.*\//, "", line)
			}
			next
		}
		/^\t/ && line != "" {
			if (!is_kernel)
				stack = ";" line stack
			line = ""
		}
		END { flush() }' "$1" | sort | uniq -c | awk '{ print $2, $1 }'
}

lines_got()
{
	awk '/^\[truncated\];_exit;\[kernel/ { next }
	{
		n = $NF
		sub(/ [0-9]+$/, "")
		m = split($0, frame, ";")
		stack = ""
		for (i = 1; i <= m; i++) {
			name = frame[i]
			if (name ~ /^\[(kernel|unknown|truncated|anon)/)
				continue
			sub(/_\[i\]$/, "", name)
			line = "-"
			if (match(name, /:[^:;]*:[0-9]+$/))
				line = substr(name, RSTART + 1)
			stack = stack ";" line
		}
		if (stack != "")
			sum[stack] += n
	} END { for (s in sum) print s, sum[s] }' | sort
}

lines_expected "$input/perf.data.expected.txt" >"$work/expected"
"$PERFBOX" flamefold --weight samples --by none --inline --srcline --symfs "$work/symfs" "$input/perf.data" \
	2>"$work/err" | lines_got >"$work/got"
if [ -s "$work/expected" ] && cmp -s "$work/expected" "$work/got"; then
	echo "ok corpus-dwarf"
	exit 0
fi
echo "FAIL corpus-dwarf"
diff "$work/expected" "$work/got" | cut -c 1-300 | sed -e 's/^/    /' -e 30q
exit 1
