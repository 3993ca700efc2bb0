# What makes no sense is refused, and says why.
perfbox offcpu --root @offcpu-convoy -m 20 -M 10
perfbox offcpu --root @offcpu-convoy -f --svg
perfbox offcpu --root @offcpu-convoy --state X
perfbox offcpu --root @offcpu-convoy --waker-depth 2
perfbox offcpu --root @offcpu-convoy --user-only --kernel-only
perfbox offcpu --root @offcpu-convoy -u -k
perfbox offcpu --root @offcpu-convoy --stack-storage 1
perfbox offcpu --root @offcpu-convoy -C '('
perfbox offcpu --root @offcpu-convoy 0
perfbox offcpu --root @offcpu-convoy 1 2
perfbox offcpu --root @offcpu-convoy --redact -f
