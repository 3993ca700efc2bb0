# Sourced by the scripts in tests/cli, tests/live and tests/slow.
#
#	begin "what is so"      ends the test before; all wants up to the next begin must hold
#	run COMMAND...          status, $out and $err (files) are what it left behind
#	want_...                see below
#	skip_test WHY           this test can't run here
#	skip_all WHY            nor can the others
#	finish                  at the end of every script
#
# PERFBOX is the program, $work a folder that is removed at the end. at_exit "COMMANDS" are run then,
# whatever happens, the latest first.

set -u
area=$(basename "$(dirname "$0")")
script=$(basename "$0" .sh)
work=$(mktemp -d "${TMPDIR:-/tmp}/perfbox-$script.XXXXXX") || exit 1
out=$work/out err=$work/err
: >"$out"
: >"$err"
title='' why='' ran='' first='' cleanup=''
status=0
is_finished=

at_exit()
{
	cleanup="$1
$cleanup"
}

leave()
{
	code=$?
	trap - EXIT
	if [ -z "$is_finished" ]; then
		[ -n "$title" ] || title='(nothing begun)'
		add_why "the script ended before its end"
		end
	fi
	eval "$cleanup"
	rm -rf "$work"
	exit $code
}
trap leave EXIT
trap 'exit 1' INT TERM HUP

# Of several runs in one test the first that was not as wanted is shown.
add_why()
{
	if [ -z "$why" ]; then
		cp "$out" "$work/first.out"
		cp "$err" "$work/first.err"
		first="$ran (status $status)"
	fi
	why="$why${why:+; }$1"
}

end()
{
	[ -n "$title" ] || return 0
	if [ -z "$why" ]; then
		echo "ok $area/$script: $title"
	else
		echo "FAIL $area/$script: $title: $why"
		if [ -n "$ran" ]; then
			echo "    ran: $first"
			sed -e 's/^/    out| /' -e 20q "$work/first.out" | cut -c 1-400
			sed -e 's/^/    err| /' -e 10q "$work/first.err" | cut -c 1-400
		fi
	fi
	title='' why=''
}

begin()
{
	end
	title=$1 ran=''
}

finish()
{
	end
	is_finished=1
	exit 0
}

skip_test()
{
	echo "skip $area/$script: $title: $1"
	title='' why=''
}

skip_all()
{
	echo "skip $area/$script: $1"
	title='' why='' is_finished=1
	exit 0
}

run()
{
	ran=$*
	status=0
	"$@" >"$out" 2>"$err" </dev/null || status=$?
}

file_of()
{
	case $1 in
	out) echo "$out" ;;
	err) echo "$err" ;;
	*) echo "$1" ;;
	esac
}

# want_status N: how it ended.
want_status()
{
	[ "$status" -eq "$1" ] || add_why "status $status, not $1"
}

# want_empty out|err|FILE
want_empty()
{
	[ ! -s "$(file_of "$1")" ] || add_why "$1 is not empty"
}

# want_lines out|err|FILE N: as many whole lines.
want_lines()
{
	lines_seen=$(wc -l <"$(file_of "$1")")
	[ "$lines_seen" -eq "$2" ] || add_why "$1 has $lines_seen lines, not $2"
}

# want_match out|err|FILE ERE: some line matches.
want_match()
{
	grep -aEq -e "$2" "$(file_of "$1")" || add_why "$1 has no line like '$2'"
}

# want_unlike out|err|FILE ERE: none does.
want_unlike()
{
	! grep -aEq -e "$2" "$(file_of "$1")" || add_why "$1 has a line like '$2': $(grep -aE -m1 -e "$2" "$(file_of "$1")")"
}

# want_that "what must be so" COMMAND...: it succeeds.
want_that()
{
	what_so=$1
	shift
	if ! "$@" >"$work/that" 2>&1; then
		add_why "not so: $what_so$(sed -e 's/^/ | /' -e 3q "$work/that" | tr '\n' ' ')"
	fi
}
