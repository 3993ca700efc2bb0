# As v2-nested-local; each table on its own.
for table in threads cgroups host findings; do
	perfbox cpuwait --root @v2-nested-local --tsv --table $table
done
