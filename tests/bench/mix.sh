#!/bin/sh
# mix.sh SECONDS FILE: programs as they are installed, most without frame pointers, for recordings with stack dumps. FILE is compressed.
end=$(($(date +%s) + $1))
while [ "$(date +%s)" -lt $end ]; do
	gzip -c "$2" > /dev/null &
	for source in tests/bench/*.c; do
		${CC:-gcc} -O2 -std=gnu11 -c -o /dev/null "$source"
	done
	! command -v perl > /dev/null || perl -e '$h{$_ % 1000} .= $_ for 1 .. 1500000'
	! command -v python3 > /dev/null || python3 -c 'import json; json.loads(json.dumps([{"a": i, "b": [i] * 3} for i in range(60000)]))'
	wait
done
