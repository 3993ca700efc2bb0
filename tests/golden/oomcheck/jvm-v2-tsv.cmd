# The sums, spelled out, for machines.
perfbox oomcheck --environ --root @oom-jvm-v2 --tsv --table processes --columns pid,heap_bytes,nonheap_bytes,need_bytes,limit_bytes,verdict,sum,heap_source,believed_cpus,quota_cpus,sees_bytes
