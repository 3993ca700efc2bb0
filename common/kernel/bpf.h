/* BPF programs and kernel type data (BTF), and the only place that knows libbpf. */
#ifndef KERNEL_BPF_H
#define KERNEL_BPF_H

const char *bpf_library_version(void);

/*
 * libbpf explains itself on stderr; from now on its last warning is kept instead, for fail texts.
 * Called before anything of libbpf is used, skeletons too; calling again forgets what was kept.
 * Kernels before 5.11 charge BPF memory to RLIMIT_MEMLOCK: libbpf tries to raise it for this
 * process and carries on if it may not.
 */
void bpf_quiet(void);
const char *bpf_last_line(void);                   /* without newline; "" if nothing was said */

/* As fail_errno(), with libbpf's last line behind it in brackets if there is one. */
int bpf_fail(int err, const char *what);

/* The load was refused with EPERM: what it lacks, for the person who has to unlock it. */
int bpf_fail_refused(int err);

/*
 * May we load a program of the kind tracing needs? Loads a tracepoint program of two instructions
 * and closes it again: 0, or -errno with fail text (-EPERM; -ENOSYS without CONFIG_BPF_SYSCALL;
 * -EINVAL without CONFIG_BPF_EVENTS).
 */
int bpf_probe_load(void);

/* Has this kernel readable BTF, which relocates our programs? 0 or -errno with fail text. */
int bpf_probe_btf(void);

#endif
