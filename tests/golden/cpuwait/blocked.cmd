# Four in D; the kernel says where for three of them.
perfbox cpuwait --root @blocked
