# perfbox --completion: loaded by the real shells, asked for real words.
. "$repo/tests/lib.sh"

ln -s "$PERFBOX" "$work/perfbox"
ln -s "$PERFBOX" "$work/cpuwait"
PATH=$work:$PATH
export PATH HOME="$work"
for shell in bash zsh fish; do
	"$PERFBOX" --completion $shell >"$work/$shell"
done

# words typed so far, the last one perhaps empty; prints what bash would offer
bash_words()
{
	run bash --norc --noprofile -c '
		source "$0" || exit 9
		COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE="$*" COMP_POINT=${#COMP_LINE}
		spec=$(complete -p "$1") || exit 8
		function=$(sed "s/.*-F \([^ ]*\).*/\1/" <<<"$spec")
		$function "$1" "${@: -1}" "${@: -2:1}"
		printf "%s\n" "${COMPREPLY[@]}"' "$work/bash" "$@"
	want_status 0
	want_empty err
}

begin "bash"
if command -v bash >/dev/null; then
	run bash -n "$work/bash"
	want_status 0
	bash_words perfbox ''
	want_match out '^cpuwait$'
	want_match out '^triage$'
	bash_words perfbox cpu
	want_match out '^cpuwait$'
	want_unlike out '^triage$'
	bash_words perfbox --com
	want_match out '^--completion$'
	bash_words perfbox --completion ''
	want_match out '^zsh$'
	bash_words perfbox cpuwait --js
	want_match out '^--json$'
	want_unlike out '^--tsv$'
	bash_words perfbox cpuwait --by ''
	want_match out '^process$'
	bash_words cpuwait --table c
	want_match out '^cgroups$'
	bash_words cpuwait --columns wait_r
	want_match out 'wait_ratio'
	bash_words perfbox --man tri
	want_match out '^triage$'
else
	skip_test "no bash"
fi

begin "zsh"
if command -v zsh >/dev/null; then
	run zsh -n "$work/zsh"
	want_status 0
	want_empty err
	mkdir "$work/fpath"
	cp "$work/zsh" "$work/fpath/_perfbox"
	# what a person would see behind TAB, in a terminal of its own
	if command -v python3 >/dev/null; then
		ask_zsh()
		{
			run timeout 60 python3 -B "$tests/helper/zsh-complete.py" "$work/fpath" "$1"
			want_status 0
		}
		ask_zsh 'perfbox cpuw'
		want_match out 'perfbox cpuwait'
		ask_zsh 'perfbox cpuwait --js'
		want_match out 'cpuwait --json'
		ask_zsh 'cpuwait --by pr'
		want_match out '--by process'
	fi
else
	skip_test "no zsh"
fi

begin "fish"
if command -v fish >/dev/null; then
	ask_fish()
	{
		run timeout 60 fish --no-config -c 'source $argv[1]; complete -C $argv[2]' "$work/fish" "$1"
		want_status 0
		want_empty err
	}
	run fish --no-execute "$work/fish"
	want_status 0
	ask_fish 'perfbox '
	want_match out '^cpuwait	'
	ask_fish 'perfbox cpuwait --js'
	want_match out '^--json	'
	ask_fish 'perfbox cpuwait --by '
	want_match out '^process'
	ask_fish 'cpuwait --table c'
	want_match out '^cgroups'
else
	skip_test "no fish"
fi

begin "a shell that is none: 2"
run "$PERFBOX" --completion csh
want_status 2
want_empty out
want_lines err 1
run "$PERFBOX" --completion
want_status 2
want_lines err 1

finish
