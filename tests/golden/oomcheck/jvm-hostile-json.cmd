perfbox oomcheck --root @oom-jvm-hostile --json --table processes --columns pid,comm,heap_bytes,heap_source,verdict
