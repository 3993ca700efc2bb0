# Which applet is meant: by the name of the link, or the first word.
. "$repo/tests/lib.sh"

link()
{
	ln -sf "$PERFBOX" "$work/$1"
}

begin "perfbox alone says what there is"
run "$PERFBOX"
want_status 0
want_empty err
want_match out '^ *cpuwait '

begin "--help is the same"
cp "$out" "$work/alone"
run "$PERFBOX" --help
want_status 0
want_that "same text" cmp "$out" "$work/alone"

begin "--list: one applet a line, its name first, then what it is"
run "$PERFBOX" --list
want_status 0
want_empty err
cp "$out" "$work/list"
want_that "each line is a name, blanks, a summary" awk '!/^[a-z][a-z-]* +[a-z].*[^ .]$/ { print; bad = 1 } END { exit bad }' "$work/list"
sed -n 's/^APPLET(\([a-z_]*\))$/\1/p' "$repo/applets/applets.def" | tr _ - >"$work/defined"
awk '{ print $1 }' "$work/list" >"$work/listed"
want_that "those of applets.def, in its order" cmp "$work/defined" "$work/listed"

begin "every applet has --help and a manual, by its first word and by its link"
for applet in $(cat "$work/listed"); do
	link "$applet"
	run "$PERFBOX" "$applet" --help
	want_status 0
	want_empty err
	want_match out "^perfbox $applet: "
	cp "$out" "$work/help"
	run "$work/$applet" --help
	want_that "$applet: same help by its link" cmp "$out" "$work/help"
	run "$PERFBOX" --man "$applet"
	want_status 0
	want_match out '^NAME'
done

begin "a link's name may go on behind - or ."
for name in cpuwait-perfbox cpuwait.old cpuwait-4.2 cpuwait. cpuwait-; do
	link "$name"
	run "$work/$name" --root "$trees/idle-v2" -q
	want_status 0
	want_match out 'cron\.service'
done

begin "a name that goes on otherwise is not the applet"
for name in cpuwaits cpuwait2 mycpuwait cpuwai perfbox-cpuwait; do
	link "$name"
	run "$work/$name" --list
	want_status 0
	want_match out '^cpuwait '
done

begin "argv[0] with a folder, relative, and empty"
run sh -c "cd '$work' && ./cpuwait --root '$trees/idle-v2' -q"
want_status 0
want_match out 'cron\.service'
if command -v bash >/dev/null; then
	run bash -c 'exec -a "" "$0" "$@"' "$PERFBOX" --list
	want_status 0
	want_match out '^cpuwait '
fi
if command -v python3 >/dev/null; then
	run python3 -c 'import os, sys; os.execv(sys.argv[1], ["/opt/x/cpuwait"] + sys.argv[2:])' "$PERFBOX" --help
	want_status 0
	want_match out '^perfbox cpuwait: '
fi

begin "--version names commit and libraries"
run "$PERFBOX" --version
want_status 0
want_empty err
want_match out '^perfbox [0-9]+\.[0-9]+.*commit '
for library in libbpf elfutils libpcap zlib xz bzip2 zstd; do
	want_match out "$library [^,]*[0-9]"
done

begin "--doctor: a table, every capability with its state"
run "$PERFBOX" --doctor --tsv
want_that "status 0, 1 or 3" [ "$status" -ne 2 ]
want_match out '(^|	)cgroup	'
want_match out '(^|	)schedstat	'
want_that "columns are the same in every line" awk -F'\t' 'NR == 1 { n = NF } NF != n { exit 1 } END { exit NR < 5 }' "$out"

finish

begin "an option that chooses another mode takes its operand behind = as well"
printf '[    1.000000] x: Killed process 9 (a) total-vm:1kB\n' >"$work/log"
run "$PERFBOX" oomcheck --log "$work/log" --tsv
cp "$out" "$work/apart"
run "$PERFBOX" oomcheck --tsv "--log=$work/log"
want_status 0
want_empty err
want_that "as if it stood apart" [ -s "$out" ]
run "$PERFBOX" oomcheck --log=
want_status 2
want_match err 'the name of a file is missing'
run "$PERFBOX" oomcheck --logs=x
want_status 2
