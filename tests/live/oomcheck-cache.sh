# Page cache fills a limit, as it always does: that is no trouble. A neighbour whose anonymous memory does is named.
. "$repo/tests/lib.sh"
. "$repo/tests/lib-memory.sh"

failures()
{
	if [ "$version" = 1 ]; then
		# equal limits of memory, and of memory and swap: the second is reached first
		cat "$base/$1"/memory.failcnt "$base/$1"/memory.memsw.failcnt 2>/dev/null | awk '{ n += $1 } END { print n }'
	else
		awk '$1 == "max" { print $2 }' "$base/$1/memory.events"
	fi
}

begin "page cache at the limit is a row and no finding"
set_up_memory
make_group cache
make_group tight
make_group calm
set_limit cache 24
set_limit tight 32
set_limit calm 64
file=$work/file
hog calm -m 8 -N calm
hog cache -c 40 -w 10 -f "$file" -N writer
before=$(failures cache)
case $(stat -f -c %T "$work" 2>/dev/null) in
tmpfs | ramfs) skip_all "$work is in memory: nothing written there is page cache" ;;
esac
run timeout 60 "$PERFBOX" oomcheck --tsv --table cgroups --columns cgroup,usage_bytes,unreclaimable_bytes $((2 * slack)) 1
after=$(failures cache)
want_that "the limit was reached again and again ($before, $after)" [ "$after" -gt "$before" ]
line=$(grep -F "$base_path/cache" "$out" | cut -f 2-)
want_that "it is full" [ "$(echo "$line" | cut -f 2)" -gt $((20 << 20)) ]
want_that "of what can go" [ "$(echo "$line" | cut -f 3)" -lt $((8 << 20)) ]
run timeout 60 "$PERFBOX" oomcheck --tsv --table findings $((2 * slack)) 1
mine "$out" >"$work/mine"
want_empty "$work/mine"

begin "anonymous memory that leaves no room at the limit is named, its neighbours are not"
hog tight -m 29 -c 20 -w 10 -f "$work/other" -N tight
run timeout 60 "$PERFBOX" oomcheck --tsv --table findings $((2 * slack)) 1
mine "$out" | cut -d ' ' -f 2- >"$work/mine"
want_lines "$work/mine" 1
want_match "$work/mine" '^oomcheck.no-headroom tight$'

finish
