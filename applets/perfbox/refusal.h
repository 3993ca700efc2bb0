/* Why the kernel said no: the settings, capabilities and filters this program runs under. */
#ifndef APPLETS_PERFBOX_REFUSAL_H
#define APPLETS_PERFBOX_REFUSAL_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/mem.h"

/* include/uapi/linux/capability.h */
enum capability_bit {
	CAP_BIT_DAC_READ_SEARCH = 2, CAP_BIT_NET_RAW = 13, CAP_BIT_SYS_PTRACE = 19,
	CAP_BIT_SYS_ADMIN = 21, CAP_BIT_SYSLOG = 34, CAP_BIT_PERFMON = 38, CAP_BIT_BPF = 39,
};

/* What can't be read is NA or NULL. */
struct restraints {
	const char *lockdown;          /* none, integrity, confidentiality */
	uint64_t perf_event_paranoid;  /* NA_U64 too if it is negative: nothing is refused */
	uint64_t unprivileged_bpf_disabled, kptr_restrict, dmesg_restrict;
	uint64_t effective;            /* CapEff */
	uint64_t seccomp;              /* 0 off, 1 strict, 2 a filter */
	bool in_user_namespace, in_pid_namespace;      /* another than the first */
};

void restraints_read(struct arena *arena, struct restraints *r);

/* Is it held? CAP_SYS_ADMIN stands for CAP_PERFMON and CAP_BPF, which kernels before 5.8 lack. */
bool restraints_allow(const struct restraints *r, enum capability_bit capability);

/*
 * "EPERM: CAP_BPF missing, unprivileged_bpf_disabled=2": the error (a negative errno), then what
 * explains it. setting is a text like "perf_event_paranoid=3" or NULL.
 */
const char *refusal_text(struct arena *arena, const struct restraints *r, int err,
			 enum capability_bit needed, const char *setting);

#endif
