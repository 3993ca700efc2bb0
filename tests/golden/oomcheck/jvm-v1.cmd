# v1's hierarchical_memory_limit tells 204 of its parent's limit; 202 was told to look by the switch of 8u131.
perfbox oomcheck --environ --root @oom-jvm-v1
