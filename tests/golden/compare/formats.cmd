perfbox compare @run-before @run-worse --json
perfbox compare @run-before @run-fixed --tsv
perfbox compare @run-before @run-fixed --tsv --table environment
perfbox compare @run-before @run-worse --openmetrics
