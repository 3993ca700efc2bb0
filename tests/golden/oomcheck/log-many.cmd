# Whole groups, reports that mix, logs that are cut or have gaps, children sacrificed, nobody to kill, nodes, user space.
# group: 811 is named twice and told once; late, 2 s later, is not of that group. mixed: of neither is usage known.
# cut: of the first kill its Killed line is left. gaps: the records before the second kill's last line are lost.
for log in group interleaved mixed sacrificed nobody nodes user-space cut gaps recorded; do
	echo "== $log"
	perfbox oomcheck --root @oom --log @oom/$log.log --tsv --no-header --columns pid,comm,uid,cgroup,limited_by,usage_bytes,anon_bytes,invoker_pid,group,verdict
done
