# The same, but 6 % of the load: untested, status 3.
perfbox compare @run-before @run-quiet
