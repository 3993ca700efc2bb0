#!/bin/sh
# Texts of stacks that people posted, folded by us and by others: they must be the same, but for what
# tests/corpus-differences.md gives a reason for. make corpus CORPUS=DIR; without CORPUS it is skipped.
# One line each, "ok NAME" or "FAIL NAME" with the difference; status 1 if any failed.
set -u
LC_ALL=C
export LC_ALL
cd "$(dirname "$0")/.." || exit 1
O=${O:-build}
fold=$O/tests/helper/foldtext
failed=0

if [ -z "${CORPUS:-}" ] || [ ! -d "$CORPUS/perf-script" ]; then
	echo "skip corpus: CORPUS names no folder with recordings (make corpus CORPUS=DIR)"
	exit 0
fi
[ -x "$fold" ] || { echo "corpus: $fold is not built" >&2; exit 1; }
work=$(mktemp -d "${TMPDIR:-/tmp}/perfbox-corpus.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT

# same NAME: $work/expected against $work/got, in any order of lines
same()
{
	sort "$work/expected" >"$work/a"
	sort "$work/got" >"$work/b"
	if [ -s "$work/a" ] && cmp -s "$work/a" "$work/b"; then
		echo "ok $1"
	else
		echo "FAIL $1"
		diff "$work/a" "$work/b" | cut -c 1-300 | sed -e 's/^/    /' -e 20q
		failed=1
	fi
}

# The differences with a reason: what others should have said. tests/corpus-differences.md, by name.
corrected()
{
	case $1 in
	cpp-stacks-std-function)
		sed -e 's/\[\[kernel.kallsyms\]\]/[kernel.kallsyms]/g' -e 's/::operator;/::operator();/' "$2"
		;;
	perf-dd-stacks-01)
		cat "$2"
		case $3 in
		addrs) echo 'dd;[unknown <246>];system_call 10101010' ;;
		all | kernel) echo 'dd;[unknown];system_call_[k] 10101010' ;;
		jit) echo 'dd;[unknown];system_call 10101010' ;;
		pid) echo 'dd-?;[unknown];system_call 10101010' ;;
		tid) echo 'dd-?/29776;[unknown];system_call 10101010' ;;
		esac
		;;
	perf-java-stacks-02) sed 's|;Ljava/|;java/|g' "$2" ;;
	perf-js-stacks-01)
		sed -e 's/RegExp:\[&<>\\\\\]/RegExp:[\&<>\\"\\'\'']/' \
			-e 's|RegExp:\\bFoo ?Bar|&(?:/[\\d.]+\|[ \\w.]*)|' "$2"
		;;
	perf-numa-stacks-01)
		case $3 in
		all | kernel) sed 's/\(native_safe_halt_\[k\]\) 72$/\1 73/' "$2" ;;
		*) sed 's/\(native_safe_halt\) 72$/\1 73/' "$2" ;;
		esac
		;;
	single-line-stacks) grep -v '_dl_start' "$2" ;;
	versioned-vmlinux) sed 's/\(bpf_prog_[a-z0-9_]*\) /\1_[k] /' "$2" ;;
	*) cat "$2" ;;
	esac
}

for path in "$CORPUS"/perf-script-expected/*.txt; do
	file=${path##*/}
	name=${file%%-collapsed*}
	suffix=${file#"$name"-collapsed}
	suffix=${suffix%.txt}
	option=${suffix#-}
	case $option in pid | tid) set -- "by=$option" ;; '') set -- ;; *) set -- "$option" ;; esac
	[ "$name" != java-inline ] || set -- inline
	corrected "$name" "$path" "$option" >"$work/expected"
	"$fold" "$@" "$CORPUS/perf-script/$name.txt" >"$work/got" 2>"$work/err"
	same "perf-script/$name${option:+ }$option"
done

# The generated recordings have no folded text: the oracle is a simple reading of the same text, for the
# forms it knows (a time, a tid in front of it, frames with a tab, the first event only).
simple_fold()
{
	awk '
		function flush() {
			if (comm != "" && event == first)
				sum[comm stack] += weight
			comm = stack = ""
		}
		/^#/ || /PERF_RECORD_/ { next }
		/^[ ]*$/ { flush(); next }
		/^\t/ {
			name = $2
			object = $NF
			sub(/\+0x[0-9a-f]+$/, "", name)
			sub(/^.*\//, "", object)
			gsub(/[()]/, "", object)
			gsub(/^\[|\]$/, "", object)
			if (name == "[unknown]")
				name = "[" object "]"
			stack = ";" name stack
			next
		}
		/^  [^ ]+:[0-9]+$/ { next }
		{
			flush()
			match($0, / [0-9]+\.[0-9]+: /)
			comm = substr($0, 1, RSTART - 1)
			rest = substr($0, RSTART + RLENGTH)
			sub(/ +\[[0-9]+\] *$/, "", comm)
			sub(/ +[KU] *$/, "", comm)
			sub(/ +[0-9\/]+ *$/, "", comm)
			sub(/^ +/, "", comm)
			gsub(/ /, "_", comm)
			n = split(rest, word)
			weight = 1
			event = word[1]
			if (word[1] ~ /^[0-9]+$/) {
				weight = word[1]
				event = word[2]
			}
			if (first == "")
				first = event
			if ($0 ~ /\)$/) {
				name = word[n - 1]
				sub(/\+0x[0-9a-f]+$/, "", name)
				stack = ";" name
			}
		}
		END {
			flush()
			for (s in sum)
				printf "%s %d\n", s, sum[s]
		}' "$1"
}

for path in "$CORPUS"/generated/*.script.txt "$CORPUS"/generated/v.[a-z]*.txt "$CORPUS"/generated/v.F-srcline.txt; do
	simple_fold "$path" >"$work/expected"
	"$fold" "$path" >"$work/got" 2>"$work/err"
	same "generated/${path##*/}"
done
"$fold" samples "$CORPUS/generated/fp.script.txt" >"$work/expected" 2>"$work/err"
"$fold" "$CORPUS/generated/v.F-comm-ip-sym.txt" >"$work/got" 2>"$work/err"
same "generated/v.F-comm-ip-sym.txt (as fp.script.txt, in samples)"

# folded text: what is junk in one is not there in the other
"$fold" "$CORPUS/folded/simple.txt" >"$work/expected" 2>"$work/err"
for name in simple-crlf simple-with-invalids; do
	"$fold" "$CORPUS/folded/$name.txt" >"$work/got" 2>"$work/err"
	same "folded/$name"
done
for name in recursion tall; do
	awk '{ n[$1] += $2 } END { for (s in n) print s, n[s] }' "$CORPUS/folded/$name.txt" >"$work/expected"
	"$fold" "$CORPUS/folded/$name.txt" >"$work/got" 2>"$work/err"
	same "folded/$name"
done
"$fold" "$CORPUS/diff/before.txt" "$CORPUS/diff/after.txt" >"$work/got" 2>"$work/err"
cat "$CORPUS/diff/default.txt" >"$work/expected"
same diff/default
cat "$CORPUS/diff/normalize.txt" >"$work/expected"
mv "$work/got" "$work/plain"
awk 'NR == FNR { a += $(NF - 1); b += $NF; next }
	{ $(NF - 1) = int($(NF - 1) * b / a); print }' "$work/plain" "$work/plain" >"$work/got"
same diff/normalize
exit $failed
