# 70 and 20 ticks of 100: 70 %, 20 %; the second thread's 25 switches are its own (status of the thread, not the process).
perfbox cpuwait --root @schedstat-absent
