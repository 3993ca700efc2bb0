#include "applets/perfbox/refusal.h"

#include <errno.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/base/na.h"
#include "common/base/scan.h"
#include "common/kernel/source.h"

/* PROC_USER_INIT_INO, PROC_PID_INIT_INO: include/linux/proc_ns.h */
#define FIRST_USER_NAMESPACE "user:[4026531837]"
#define FIRST_PID_NAMESPACE "pid:[4026531836]"

static uint64_t read_number(const char *path)
{
	struct text t;
	uint64_t value;
	struct scan s;

	if (src_read(path, &t) < 0)
		return NA_U64;
	s = scan_of(t);
	return scan_u64(&s, &value) ? value : NA_U64;
}

/* "none [integrity] confidentiality": the one in brackets. security/lockdown/lockdown.c */
static const char *read_lockdown(struct arena *arena)
{
	struct text t, word;

	if (src_read("sys/kernel/security/lockdown", &t) < 0)
		return NULL;
	struct scan s = scan_of(t);

	if (!scan_until(&s, '[', &word) || !scan_until(&s, ']', &word))
		return NULL;
	return arena_text(arena, word);
}

static void read_status(struct restraints *r)
{
	struct text status, value;

	if (src_read("proc/self/status", &status) < 0)
		return;
	scan_key_u64(status, "Seccomp", &r->seccomp);
	if (!scan_find_key(status, "CapEff", &value))
		return;
	struct scan s = scan_of(value);

	scan_hex(&s, &r->effective);
}

static bool is_elsewhere(const char *link, const char *first)
{
	const char *target;

	return src_link(link, &target) >= 0 && strcmp(target, first) != 0;
}

void restraints_read(struct arena *arena, struct restraints *r)
{
	*r = (struct restraints){
		.lockdown = read_lockdown(arena),
		.perf_event_paranoid = read_number("proc/sys/kernel/perf_event_paranoid"),
		.unprivileged_bpf_disabled =
			read_number("proc/sys/kernel/unprivileged_bpf_disabled"),
		.kptr_restrict = read_number("proc/sys/kernel/kptr_restrict"),
		.dmesg_restrict = read_number("proc/sys/kernel/dmesg_restrict"),
		.effective = NA_U64,
		.seccomp = NA_U64,
		.in_user_namespace = is_elsewhere("proc/self/ns/user", FIRST_USER_NAMESPACE),
		.in_pid_namespace = is_elsewhere("proc/self/ns/pid", FIRST_PID_NAMESPACE),
	};
	read_status(r);
}

bool restraints_allow(const struct restraints *r, enum capability_bit capability)
{
	uint64_t wanted = UINT64_C(1) << capability;

	if (capability == CAP_BIT_BPF || capability == CAP_BIT_PERFMON)
		wanted |= UINT64_C(1) << CAP_BIT_SYS_ADMIN;
	return r->effective != NA_U64 && (r->effective & wanted);
}

static const char *capability_name(enum capability_bit capability)
{
	switch (capability) {
	case CAP_BIT_DAC_READ_SEARCH:
		return "CAP_DAC_READ_SEARCH";
	case CAP_BIT_NET_RAW:
		return "CAP_NET_RAW";
	case CAP_BIT_SYS_PTRACE:
		return "CAP_SYS_PTRACE";
	case CAP_BIT_SYS_ADMIN:
		return "CAP_SYS_ADMIN";
	case CAP_BIT_SYSLOG:
		return "CAP_SYSLOG";
	case CAP_BIT_PERFMON:
		return "CAP_PERFMON";
	case CAP_BIT_BPF:
		return "CAP_BPF";
	}
	return "?";
}

const char *refusal_text(struct arena *arena, const struct restraints *r, int err,
			 enum capability_bit needed, const char *setting)
{
	const char *name = capability_name(needed), *error = strerrorname_np(-err);
	bool is_held = restraints_allow(r, needed);
	/* filters in use answer EPERM; what EACCES refuses is a file, or perf_event_paranoid */
	bool has_filter = r->seccomp != NA_U64 && r->seccomp > 0 && err == -EPERM;

	if (!error)
		error = "refused";
	if (r->effective == NA_U64)
		return arena_printf(arena, "%s: cause unknown", error);
	if (!is_held)
		return arena_printf(arena, "%s: %s missing%s%s%s", error, name, setting ? ", " : "",
				    setting ? setting : "", has_filter ? ", seccomp filter" : "");
	if (has_filter)
		return arena_printf(arena, "%s: seccomp filter (%s is held)", error, name);
	if (r->in_user_namespace)
		return arena_printf(arena, "%s: %s is held in this user namespace only", error,
				    name);
	return arena_printf(arena, "%s: a security module (%s is held)", error, name);
}
