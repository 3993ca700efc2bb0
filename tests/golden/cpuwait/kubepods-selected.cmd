# The command that the finding names shows that container and what is above it, and the finding again.
perfbox cpuwait --root @kubepods-throttled --top 2 $(perfbox cpuwait --root @kubepods-throttled --tsv --table findings --no-header |
	grep -o ' -G [^ 	]*')
# Of another container's threads nothing is wrong.
perfbox cpuwait --root @kubepods-throttled -q -p 10000
