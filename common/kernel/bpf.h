/* BPF programs and kernel type data (BTF), and the only place that knows libbpf. */
#ifndef KERNEL_BPF_H
#define KERNEL_BPF_H

#include <stddef.h>
#include <stdint.h>

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
 * Why programs did not load that need what Linux 5.minor brought, with what would unlock it: -EPERM
 * a capability is missing or something refuses, -ENOSYS no bpf(), -EINVAL an older kernel, -ENOENT
 * no kernel BTF. err: as libbpf gave it, positive. needs: "task local storage in tracing programs".
 */
int bpf_explain_load(int err, const char *needs, unsigned minor);

/*
 * Runs an iterator once (kernel/bpf/bpf_iter.c) and hands over its rows one by one; bytes that make
 * no whole row are -EIO. each NULL: rows are passed over. 0 or -errno with fail text.
 */
int bpf_iterate(int link_fd, size_t row_size, void (*each)(const void *row, void *arg), void *arg);

/* A map as bpf(2) has it: 0 or -errno, no text. next of NULL: the first key; -ENOENT: the end. */
int bpf_map_next(int map_fd, const void *key, void *next);
int bpf_map_get(int map_fd, const void *key, void *value);     /* per-CPU: all possible CPUs' */
int bpf_map_put(int map_fd, const void *key, const void *value);
int bpf_map_remove(int map_fd, const void *key);
int bpf_possible_cpus(void);           /* how many values bpf_map_get has of a per-CPU map */

/*
 * May we load a program of the kind tracing needs? Loads a tracepoint program of two instructions
 * and closes it again: 0, or -errno with fail text (-EPERM; -ENOSYS without CONFIG_BPF_SYSCALL;
 * -EINVAL without CONFIG_BPF_EVENTS).
 */
int bpf_probe_load(void);

/* Has this kernel readable BTF, which relocates our programs? 0 or -errno with fail text. */
int bpf_probe_btf(void);

/* How often a program was not run because it ran already on that CPU (5.12); 0: never, or not told. */
uint64_t bpf_program_misses(int program_fd);

/*
 * Calls each with the enumerators of every enum whose name ends in `ending`: of the kernel, or of a
 * loaded module. How many enums there were; -errno without text: no BTF.
 */
int bpf_each_enumerator(const char *module, const char *ending,
			void (*each)(void *arg, const char *name, uint64_t value), void *arg);

/* How many arguments a raw tracepoint has here, by BTF ("sched_switch"); -errno: not known. */
int bpf_tracepoint_arguments(const char *name);

#endif
