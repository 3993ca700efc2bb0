# With itself: still there, ratio 1, nothing differs.
perfbox compare @run-before @run-before
