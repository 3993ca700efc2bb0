/* perf_event_open(2): what may be counted and sampled here. */
#ifndef KERNEL_PERF_H
#define KERNEL_PERF_H

enum perf_scope {
	PERF_OWN_USER,                 /* this program, in user space */
	PERF_OWN_KERNEL,               /* this program, in the kernel too */
	PERF_CPU,                      /* everything on one CPU */
};

/*
 * Opens a CPU clock event, which needs no hardware counter, and closes it again: 0 or -errno with
 * fail text. EACCES or EPERM: perf_event_paranoid, seccomp or a security module; ENOSYS: not built
 * in.
 */
int perf_probe(enum perf_scope scope);

#endif
