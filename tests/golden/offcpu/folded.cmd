# Folded, in microseconds: all parts, one of them, without idle, without kernel or user frames, by thread; with who woke.
perfbox offcpu --root @offcpu-convoy -f
perfbox offcpu --root @offcpu-convoy -f --only runnable
perfbox offcpu --root @offcpu-convoy -f --only preempted --by pid
perfbox offcpu --root @offcpu-convoy -f --user-only --by none
perfbox offcpu --root @offcpu-convoy -f --kernel-only -C worker --state S
perfbox offcpu --root @offcpu-convoy -f --completed-only --wakers -C refresher
