# The same three kills as nine generations of kernels put them (fixtures/oom.py): redis at its group's own limit of 512 MiB =
# 536870912, 511 of that anonymous (0.998); worker;1 at its parent's of 1 GiB, 1000 of 1024 MiB anonymous (0.977), 900 MiB =
# 943718400 its own; java as the host ran out. 3.10 to 4.19 say neither a host kill's group nor which constraint ("host", not
# "none"); 3.10 no shmem; page tables (26 pages) from 5.4 on. Undated: rows and history, status 0.
for log in 3.10 rhel7 4.8 4.19 5.0 5.4 6.1 6.12 6.18-v1; do
	echo "== $log"
	perfbox oomcheck --root @oom --log @oom/$log.log --tsv --no-header --columns pid,comm,uid,cgroup,cause,limited_by,usage_bytes,limit_bytes,failcnt,anon_bytes,file_bytes,shmem_bytes,oom_score_adj,anon_ratio,pgtables_bytes,constraint,invoker,invoker_pid
done
