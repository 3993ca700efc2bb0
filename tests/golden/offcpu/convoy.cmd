# Three workers want a mutex whose holder reads from a socket: the lock, its holder, and what that one waits for. Beside them
# two spinners on one CPU, preempted.
perfbox offcpu --root @offcpu-convoy
perfbox offcpu --root @offcpu-convoy --locks --table locks
perfbox offcpu --root @offcpu-convoy --by tid --table threads
