# The time is that of AFTER's last frame.
for format in --json --tsv '--tsv --table environment' --openmetrics; do
	perfbox compare @run-before @run-worse $format
done
