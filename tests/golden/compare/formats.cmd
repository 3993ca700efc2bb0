# The time of a comparison is that of the comparing: taken out.
for format in --json --tsv '--tsv --table environment' --openmetrics; do
	perfbox compare @run-before @run-worse $format | sed 's/20[0-9-]*T[0-9:.]*Z/TIME/'
done
