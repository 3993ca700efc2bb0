# The screen of conntrack-top: only on a terminal, given back afterwards, and never in a pipe.
. "$repo/tests/lib.sh"

command -v script >/dev/null || skip_all "no script(1)"
escape=$(printf '\033')

# typed "SLEEP KEYS SLEEP ..." COMMAND: on a terminal of its own; what it wrote to it is in $out
typed()
{
	keys=$1
	ran=$2
	status=0
	for word in $keys; do
		case $word in
		[0-9]*) sleep "$word" ;;
		space) printf ' ' ;;
		*) printf '%s' "$word" ;;
		esac
	done | TERM=${term-xterm} timeout 30 script -qec "$2" /dev/null >"$out" 2>"$err" || status=$?
}

begin "on a terminal it is redrawn in place, listens to keys, and q ends it"
typed '1.5 b 0.7 s 0.7 q' "$PERFBOX conntrack-top 0.5; stty -a >$work/stty; echo status \$?"
want_match out "$escape\\[\\?1049h"
want_match out "$escape\\[\\?1049l"
want_match out "by: dst"
want_match out "sort: unreplied"
want_match "$work/stty" '[^-]icanon'
want_match "$work/stty" '[^-]echo '
want_that "the last report stays on the terminal" sh -c "sed 's/.*1049l//' '$out' | tail -n 3 | grep -q ."

begin "space stops it until it is pressed again"
typed '1 space 2.5 q' "$PERFBOX conntrack-top 0.3"
paused=$(grep -ao "PAUSED" "$out" | wc -l)
frames=$(grep -ao "$escape\\[H" "$out" | wc -l)
want_that "it says so, and few frames were drawn: $paused, $frames" [ "$frames" -le 8 ]

begin "interrupted, the terminal is given back"
typed '3' "sh -c '$PERFBOX conntrack-top 0.5 & p=\$!; sleep 1.5; kill -INT \$p; wait \$p'; stty -a >$work/stty"
want_match "$work/stty" '[^-]icanon'

begin "no screen: a dumb terminal, a count, -b"
term=dumb
typed '1.5 q 1' "timeout -s INT 1.5 $PERFBOX conntrack-top 0.5"
want_unlike out "$escape"
unset term
typed '1' "$PERFBOX conntrack-top 0.2 2"
want_unlike out "$escape\\[\\?1049h"
typed '1' "timeout -s INT 1 $PERFBOX conntrack-top -b 0.3"
want_unlike out "$escape\\[\\?1049h"

begin "piped there is no escape, and no terminal to wait for"
run sh -c "timeout -s INT 1.5 '$PERFBOX' conntrack-top 0.4 | cat"
want_unlike out "$escape"
want_that "reports" [ "$(grep -c '^NETNS\|not in use' "$out")" -ge 2 ]
run timeout 5 "$PERFBOX" conntrack-top 0.2 2
want_unlike out "$escape"

finish
