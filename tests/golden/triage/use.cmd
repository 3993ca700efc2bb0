# 4 CPUs, 1 % busy: 0.04 of 4. What is not in the tree is unknown, and stderr names each file once; status 3.
perfbox triage --root @idle-v2 --use
