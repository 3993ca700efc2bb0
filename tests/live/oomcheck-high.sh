# memory.high of cgroup v2: a hog held above it is named, neighbours whose page cache fills theirs or who are far below
# it are not.
. "$repo/tests/lib.sh"
. "$repo/tests/lib-memory.sh"

events()
{
	awk -v name="$2" '$1 == name { print $2 }' "$base/$1/memory.events"
}

begin "a hog held at memory.high is named at the second look, with where it waits; neighbours are not"
set_up_memory
[ "$version" = 2 ] || skip_all "the memory controller is v1's here, which has no memory.high"
make_group held
make_group cache
make_group calm
echo 16M >"$base/held/memory.high"
[ ! -e "$base/held/memory.swap.max" ] || echo 0 >"$base/held/memory.swap.max"
echo 32M >"$base/cache/memory.high"
echo 64M >"$base/calm/memory.high"
case $(stat -f -c %T "$work" 2>/dev/null) in
tmpfs | ramfs) skip_all "$work is in memory: nothing written there is page cache" ;;
esac
hog calm -m 8 -t 300 -N calm
hog cache -m 4 -c 40 -w 10 -f "$work/file" -t 300 -N cache
"$helpers/hog" -g "$base/held" -m 48 -N greedy -t 300 >/dev/null 2>&1 &
greedy=$!
pids="$pids $greedy"
tries=0
while [ "$(events held high)" -lt 50 ] && [ $tries -lt $((100 * slack)) ]; do
	tries=$((tries + 1))
	sleep 0.1
done
before=$(events held high) cache_before=$(events cache high)
run timeout 100 "$PERFBOX" oomcheck --tsv --table findings $((5 * slack)) 1
after=$(events held high)
want_status 1
mine "$out" | cut -d ' ' -f 2- | sort >"$work/mine"
grep -v '^oomcheck.pressure held$' "$work/mine" >"$work/named"
want_lines "$work/named" 1
want_match "$work/named" '^oomcheck.high-throttling held$'
want_that "page cache was above its limit, too" [ "$(events cache high)" -gt "$cache_before" ]
grep '	oomcheck.high-throttling	' "$out" >"$work/finding"
want_match "$work/finding" "held_tasks=1;high_bytes=$((16 << 20));"
want_match "$work/finding" "/proc/$greedy/wchan (__)?mem_cgroup_handle_over_high"
counted=$(tr '\t;' '\n\n' <"$work/finding" | sed -n 's/^high_events=//p')
want_that "its events: $counted of $((after - before))" [ "${counted:-0}" -ge 10 ]
want_that "no more than the kernel has" [ "${counted:-0}" -le $((after - before)) ]

finish
