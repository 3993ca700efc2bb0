/*
 * The probes of the doctor: each tries one thing and says what came of it. A refusal is explained
 * by what the program runs under.
 */
#include "applets/perfbox/capability.h"

#include <errno.h>
#include <linux/netlink.h>
#include <string.h>
#include <unistd.h>

#include "applets/perfbox/refusal.h"
#include "common/base/na.h"
#include "common/base/scan.h"
#include "common/kernel/bpf.h"
#include "common/kernel/capture.h"
#include "common/kernel/cgroup.h"
#include "common/kernel/kmsg.h"
#include "common/kernel/perf.h"
#include "common/kernel/probe.h"
#include "common/kernel/psi.h"
#include "common/kernel/source.h"
#include "common/kernel/task.h"
#include "common/stack/elfsym.h"

static struct restraints restraints;

/* Setting a row. */

static void set(struct capability *row, const char *state, const char *why, const char *unlock)
{
	row->state = state;
	row->why = why;
	row->unlock = unlock;
}

static void set_ok(struct capability *row, const char *why)
{
	set(row, "ok", why, NULL);
}

/* A saved run that holds no such call says nothing about it. */
static bool is_unknown(int err)
{
	return err == -ENOENT && !src_is_live();
}

static bool is_not_built_in(int err)
{
	return err == -ENOSYS || err == -EOPNOTSUPP || err == -EAFNOSUPPORT ||
		err == -EPROTONOSUPPORT;
}

static bool has_filter(void)
{
	return restraints.seccomp != NA_U64 && restraints.seccomp > 0;
}

static void set_refused(struct capability *row, int err, enum capability_bit needed,
			const char *by, const char *unlock)
{
	bool is_held = restraints_allow(&restraints, needed);

	if (is_held && err == -EPERM && has_filter())
		unlock = "a seccomp profile that allows it";
	else if (is_held && restraints.in_user_namespace)
		unlock = arena_printf(src_arena(), "in the host's user namespace: %s", unlock);
	else if (is_held)
		unlock = NULL;
	set(row, "refused", refusal_text(src_arena(), &restraints, err, needed, by), unlock);
}

/* Where no capability would help. */
static void set_filtered(struct capability *row, int err)
{
	set(row, "refused", arena_printf(src_arena(), "%s: %s", strerrorname_np(-err),
					 has_filter() ? "seccomp filter" : "a security module"),
	    has_filter() ? "a seccomp profile that allows it" : NULL);
}

/* "NAME=N", or NULL if it could not be read. */
static const char *setting(const char *name, uint64_t value)
{
	return value == NA_U64 ? NULL :
		arena_printf(src_arena(), "%s=%llu", name, (unsigned long long)value);
}

/* Calls, through the source so that they are saved and replayed. */

static int call_btf(void *arg, struct buf *reply)
{
	(void)arg, (void)reply;
	return bpf_probe_btf();
}

static int call_bpf(void *arg, struct buf *reply)
{
	(void)arg, (void)reply;
	return bpf_probe_load();
}

static int call_perf(void *arg, struct buf *reply)
{
	(void)reply;
	return perf_probe(*(const enum perf_scope *)arg);
}

static int call_kallsyms(void *arg, struct buf *reply)
{
	(void)arg;
	return probe_kallsyms(reply);
}

static int call_netlink(void *arg, struct buf *reply)
{
	(void)reply;
	return probe_netlink(*(const int *)arg);
}

static int call_packet(void *arg, struct buf *reply)
{
	(void)arg, (void)reply;
	return probe_packet();
}

static int call_openat2(void *arg, struct buf *reply)
{
	(void)arg, (void)reply;
	return probe_openat2();
}

static int call_netns(void *arg, struct buf *reply)
{
	(void)arg, (void)reply;
	return probe_netns();
}

/* Build id and a symbol look-up: stripped, no symbol is found, but the file must be readable. */
static int call_symbols(void *arg, struct buf *reply)
{
	char hex[ELFSYM_BUILD_ID_HEX], name[64];
	int fd = probe_self();
	uint64_t offset;

	(void)arg;
	if (fd < 0)
		return fd;
	int err = elfsym_build_id(fd, hex);

	if (err >= 0)
		err = elfsym_lookup(fd, (uintptr_t)call_symbols, name, sizeof(name), &offset);
	close(fd);
	if (err < 0 && err != -ENOENT)
		return err;
	buf_add_text(reply, hex);
	return 0;
}

/* Probes. */

static void look_btf(struct capability *row)
{
	struct text unused;

	if (!src_exists("sys/kernel/btf/vmlinux")) {
		set(row, "absent", "no /sys/kernel/btf/vmlinux",
		    "a kernel with CONFIG_DEBUG_INFO_BTF");
		return;
	}
	int err = src_call("probe btf", call_btf, NULL, &unused);

	if (!err)
		set_ok(row, "/sys/kernel/btf/vmlinux");
	else if (!is_unknown(err))
		set_refused(row, err, CAP_BIT_DAC_READ_SEARCH, NULL, "read access to the file");
}

static void look_bpf(struct capability *row)
{
	static const char unlock[] = "CAP_BPF and CAP_PERFMON (before Linux 5.8: CAP_SYS_ADMIN)";
	struct text unused;
	int err = src_call("probe bpf", call_bpf, NULL, &unused);
	const char *lockdown = restraints.lockdown;
	bool is_confidential = lockdown && !strcmp(lockdown, "confidentiality");

	if (!err && is_confidential)
		set(row, "limited", "lockdown=confidentiality: programs can't read kernel memory",
		    "boot with lockdown=integrity");
	else if (!err)
		set_ok(row, "a tracing program loads");
	else if (is_not_built_in(err) || err == -EINVAL)
		set(row, "absent", "tracing programs are not built in",
		    "a kernel with CONFIG_BPF_SYSCALL and CONFIG_BPF_EVENTS");
	else if (!is_unknown(err))
		set_refused(row, err, restraints_allow(&restraints, CAP_BIT_BPF) ?
			    CAP_BIT_PERFMON : CAP_BIT_BPF,
			    setting("unprivileged_bpf_disabled",
				    restraints.unprivileged_bpf_disabled), unlock);
}

static int try_perf(enum perf_scope scope)
{
	static const char *const keys[] = {
		[PERF_OWN_USER] = "probe perf own user",
		[PERF_OWN_KERNEL] = "probe perf own kernel",
		[PERF_CPU] = "probe perf cpu",
	};
	struct text unused;

	return src_call(keys[scope], call_perf, &scope, &unused);
}

static void set_perf(struct capability *row, int err, const char *unlock)
{
	if (is_not_built_in(err))
		set(row, "absent", "perf events are not built in",
		    "a kernel with CONFIG_PERF_EVENTS");
	else if (!is_unknown(err))
		set_refused(row, err, CAP_BIT_PERFMON, setting("perf_event_paranoid",
			    restraints.perf_event_paranoid), unlock);
}

static void look_perf_own(struct capability *row)
{
	int err = try_perf(PERF_OWN_USER);

	if (err) {
		set_perf(row, err, "CAP_PERFMON, or sysctl kernel.perf_event_paranoid=2");
		return;
	}
	err = try_perf(PERF_OWN_KERNEL);
	if (err)
		set(row, "limited", arena_printf(src_arena(), "user space only; %s",
		    refusal_text(src_arena(), &restraints, err, CAP_BIT_PERFMON,
				 setting("perf_event_paranoid", restraints.perf_event_paranoid))),
		    "CAP_PERFMON, or sysctl kernel.perf_event_paranoid=1");
	else
		set_ok(row, "this program, user space and kernel");
}

static void look_perf_cpu(struct capability *row)
{
	int err = try_perf(PERF_CPU);

	if (err)
		set_perf(row, err, "CAP_PERFMON (before Linux 5.8: CAP_SYS_ADMIN), or sysctl "
			 "kernel.perf_event_paranoid=0");
	else
		set_ok(row, "all that runs on a CPU");
}

static void look_tracefs(struct capability *row)
{
	static const char *const places[] = {
		"sys/kernel/tracing/events", "sys/kernel/debug/tracing/events",
	};
	struct src_names names;
	int err = 0;

	for (size_t i = 0; i < 2; i++) {
		err = src_list(places[i], &names);
		if (err >= 0) {
			set_ok(row, arena_printf(src_arena(), "/%s", places[i]));
			return;
		}
		if (err != -ENOENT)
			break;
	}
	if (err != -ENOENT)
		set_refused(row, err, CAP_BIT_DAC_READ_SEARCH, restraints.lockdown ?
			    arena_printf(src_arena(), "lockdown=%s", restraints.lockdown) : NULL,
			    "root, or tracefs mounted with gid= and mode=0750");
	else if (src_exists("sys/kernel/tracing"))
		set(row, "off", "not mounted", "mount -t tracefs nodev /sys/kernel/tracing");
	else
		set(row, "absent", "no /sys/kernel/tracing", "a kernel with CONFIG_TRACING");
}

static bool has_address(struct text lines)
{
	struct scan s = scan_of(lines);
	struct text line;

	while (scan_line(&s, &line)) {
		struct scan in_line = scan_of(line);
		uint64_t address;

		if (scan_hex(&in_line, &address) && address)
			return true;
	}
	return false;
}

/* kernel/kallsyms.c kallsyms_show_value: with kptr_restrict=0, perf_event_paranoid decides. */
static void set_hidden_addresses(struct capability *row)
{
	const char *kptr = setting("kptr_restrict", restraints.kptr_restrict);
	const char *paranoid = setting("perf_event_paranoid", restraints.perf_event_paranoid);
	bool is_held = restraints_allow(&restraints, CAP_BIT_SYSLOG);
	bool is_open = restraints.kptr_restrict == 0 && paranoid;

	set(row, "refused", arena_printf(src_arena(), "addresses read 0: %s%s%s%s",
		!is_held ? "CAP_SYSLOG missing, " : restraints.in_user_namespace ?
		"CAP_SYSLOG is held in this user namespace only, " : "", kptr ? kptr : "",
		is_open ? ", " : "", is_open ? paranoid : ""),
	    restraints.kptr_restrict == 2 ? "sysctl kernel.kptr_restrict=1, and CAP_SYSLOG" :
	    is_open ? "CAP_SYSLOG, or sysctl kernel.perf_event_paranoid=1" : "CAP_SYSLOG");
}

static void look_kallsyms(struct capability *row)
{
	struct text first;
	int err = src_call("first lines of proc/kallsyms", call_kallsyms, NULL, &first);

	if (is_unknown(err))
		return;
	if (err == -ENOENT)
		set(row, "absent", "no /proc/kallsyms", "a kernel with CONFIG_KALLSYMS");
	else if (err)
		set_refused(row, err, CAP_BIT_SYSLOG, NULL, "read access to the file");
	else if (has_address(first))
		set_ok(row, "addresses of kernel symbols");
	else
		set_hidden_addresses(row);
}

static void look_netlink(struct capability *row, const char *key, int protocol,
			 const char *config)
{
	struct text unused;
	int err = src_call(key, call_netlink, &protocol, &unused);

	if (!err)
		set_ok(row, "a socket opens");
	else if (is_not_built_in(err))
		set(row, "absent", "not built in", config);
	else if (!is_unknown(err))
		set_filtered(row, err);
}

static void look_rtnetlink(struct capability *row)
{
	look_netlink(row, "probe netlink route", NETLINK_ROUTE, "a kernel with CONFIG_NET");
}

static void look_sock_diag(struct capability *row)
{
	look_netlink(row, "probe netlink sock_diag", NETLINK_SOCK_DIAG, "Linux 3.3");
}

/* Opening the first packet socket may load the module: where it isn't there, it isn't asked for. */
static void look_packet(struct capability *row)
{
	struct text unused;

	if (!src_exists("proc/net/packet")) {
		set(row, "absent", "no /proc/net/packet: not in use, not tried",
		    "modprobe af_packet");
		return;
	}
	int err = src_call("probe packet socket", call_packet, NULL, &unused);

	if (!err)
		set_ok(row, "a socket opens");
	else if (!is_unknown(err))
		set_refused(row, err, CAP_BIT_NET_RAW, NULL, "CAP_NET_RAW");
}

/* In the program itself, whatever the host. */
static void look_pcap(struct capability *row)
{
	unsigned instructions;

	if (capture_check_filter("tcp port 80 and host 192.0.2.1", &instructions) < 0)
		set(row, "absent", arena_strdup(src_arena(), fail_text()), NULL);
	else
		set_ok(row, arena_printf(src_arena(), "a filter compiles, to %u instructions",
					 instructions));
}

static void look_netns(struct capability *row)
{
	struct text unused;
	int err = src_call("probe setns net", call_netns, NULL, &unused);

	if (!err)
		set_ok(row, "a network namespace can be entered");
	else if (!is_unknown(err))
		set_refused(row, err, CAP_BIT_SYS_ADMIN, NULL, "CAP_SYS_ADMIN");
}

/* hidepid answers ENOENT (2) or EPERM (1) for what others run. proc(5) */
static void look_proc(struct capability *row)
{
	struct text unused;
	int err = src_read("proc/1/stat", &unused);

	if (err == -ENOENT && !src_exists("proc/self/stat")) {
		set(row, "absent", "no /proc/PID", "a mounted proc (perfbox never mounts)");
		return;
	}
	if (err < 0) {
		set(row, "refused", arena_printf(src_arena(), "%s: processes of others are hidden",
						 strerrorname_np(-err)),
		    "root, CAP_SYS_PTRACE, or the group that the mount's gid= names");
		return;
	}
	err = src_read("proc/1/io", &unused);
	if (err < 0)
		set(row, "limited", arena_printf(src_arena(), "stat of pid 1 reads, io: %s",
		    refusal_text(src_arena(), &restraints, err, CAP_BIT_SYS_PTRACE, NULL)),
		    restraints_allow(&restraints, CAP_BIT_SYS_PTRACE) ? NULL : "CAP_SYS_PTRACE");
	else if (restraints.in_pid_namespace)
		set(row, "limited", "only the processes of this pid namespace",
		    "the host's pid namespace (docker --pid=host, hostPID: true)");
	else
		set_ok(row, "stat and io of pid 1");
}

static void look_cgroup(struct capability *row)
{
	struct cgroup_layout layout;
	struct arena *arena = src_arena();

	if (cgroup_find(arena, &layout) < 0 || layout.mode == CGROUP_NONE) {
		set(row, "absent", "no control group file system is mounted",
		    "a mounted cgroup2 (perfbox never mounts)");
		return;
	}
	const struct cgroup_hierarchy *cpu = &layout.cpu, *memory = &layout.memory;
	const char *why = arena_printf(arena, "%s; cpu %s%s, memory %s%s",
		cgroup_mode_name(layout.mode), cpu->version ? "/" : "",
		cpu->version ? cpu->mount : "nowhere", memory->version ? "/" : "",
		memory->version ? memory->mount : "nowhere");

	if (!cpu->version)
		set(row, "limited", why, "the cpu controller, enabled and mounted");
	else if (layout.has_namespace)
		set(row, "limited", arena_printf(arena, "%s; groups above ours are hidden", why),
		    "the host's cgroup namespace (docker --cgroupns=host)");
	else
		set_ok(row, why);
}

static void look_memory(struct capability *row)
{
	struct cgroup_layout layout;

	if (cgroup_find(src_arena(), &layout) < 0 || !layout.memory.version)
		set(row, "absent", "no hierarchy has the memory controller",
		    "the memory controller, enabled and mounted");
	else if (layout.has_namespace)
		set(row, "limited", "limits of groups above ours are hidden",
		    "the host's cgroup namespace (docker --cgroupns=host)");
	else
		set_ok(row, arena_printf(src_arena(), "/%s", layout.memory.mount));
}

static void look_schedstat(struct capability *row)
{
	struct task_schedstat stat;
	struct text t;
	int err = src_read("proc/self/schedstat", &t);

	if (err < 0)
		set(row, "absent", "no /proc/PID/schedstat", "a kernel with CONFIG_SCHED_INFO");
	else if (task_parse_schedstat(t, &stat) < 0)
		set(row, "absent", "/proc/self/schedstat makes no sense", NULL);
	else if (!stat.run_ns)
		set(row, "off", "/proc/self/schedstat stands at 0",
		    "sysctl kernel.task_delayacct=1, or boot with delayacct");
	else
		set_ok(row, "/proc/PID/schedstat");
}

static void look_psi(struct capability *row)
{
	struct psi psi;
	int err = psi_read("proc/pressure/cpu", &psi);

	if (err >= 0)
		set_ok(row, "/proc/pressure");
	else if (err == -EOPNOTSUPP)
		set(row, "off", "EOPNOTSUPP: built in, not turned on", "boot with psi=1");
	else if (err == -ENOENT)
		set(row, "absent", "no /proc/pressure", "a kernel with CONFIG_PSI");
	else
		set_filtered(row, err);
}

static void look_kmsg(struct capability *row)
{
	struct text content;
	int err = kmsg_read(&content);

	if (err >= 0)
		set_ok(row, "/dev/kmsg");
	else if (err == -ENOENT)
		set(row, "absent", "no /dev/kmsg", "the host's /dev/kmsg in this container");
	else
		set_refused(row, err, CAP_BIT_SYSLOG,
			    setting("dmesg_restrict", restraints.dmesg_restrict),
			    "CAP_SYSLOG, or kernel.dmesg_restrict=0 and read access to the file");
}

static void look_openat2(struct capability *row)
{
	struct text unused;
	int err = src_call("probe openat2", call_openat2, NULL, &unused);

	if (!err)
		set_ok(row, "confined opens");
	else if (err == -ENOSYS)
		set(row, "absent", "ENOSYS", "Linux 5.6");
	else if (!is_unknown(err))
		set_filtered(row, err);
}

static void look_symbols(struct capability *row)
{
	struct text id;
	int err = src_call("probe symbols", call_symbols, NULL, &id);

	if (!err)
		set_ok(row, arena_printf(src_arena(), "own build id %.16s...",
					 arena_text(src_arena(), id)));
	else if (!is_unknown(err))
		set(row, "absent", arena_printf(src_arena(), "own file: %s", strerrorname_np(-err)),
		    NULL);
}

static void look_demangle(struct capability *row)
{
	static const char *const examples[][2] = {
		{ "_ZN3foo3barEv", "foo::bar" },
		{ "_RNvC3foo3bar", "foo::bar" },
		{ "_D3foo3barFZv", "foo.bar()" },
	};
	char readable[64];

	for (size_t i = 0; i < sizeof(examples) / sizeof(*examples); i++) {
		if (elfsym_demangle(examples[i][0], readable, sizeof(readable)) &&
		    !strcmp(readable, examples[i][1]))
			continue;
		set(row, "absent", arena_printf(src_arena(), "%s does not read %s", examples[i][0],
						examples[i][1]), NULL);
		return;
	}
	set_ok(row, "C++, Rust and D names");
}

static const struct {
	const char *name;
	void (*look)(struct capability *row);
} probes[] = {
	{ "btf", look_btf },
	{ "bpf", look_bpf },
	{ "perf-own", look_perf_own },
	{ "perf-cpu", look_perf_cpu },
	{ "tracefs", look_tracefs },
	{ "kallsyms", look_kallsyms },
	{ "proc", look_proc },
	{ "schedstat", look_schedstat },
	{ "psi", look_psi },
	{ "cgroup", look_cgroup },
	{ "memory", look_memory },
	{ "kmsg", look_kmsg },
	{ "netns", look_netns },
	{ "rtnetlink", look_rtnetlink },
	{ "sock-diag", look_sock_diag },
	{ "packet", look_packet },
	{ "pcap", look_pcap },
	{ "openat2", look_openat2 },
	{ "symbols", look_symbols },
	{ "demangle", look_demangle },
};

bool capability_probe(size_t i, struct capability *row)
{
	if (i >= sizeof(probes) / sizeof(*probes))
		return false;
	if (!i)
		restraints_read(src_arena(), &restraints);
	*row = (struct capability){ .capability = probes[i].name };
	probes[i].look(row);
	row->is_own = probes[i].look == look_pcap || probes[i].look == look_demangle;
	row->usable = row->state && (!strcmp(row->state, "ok") || !strcmp(row->state, "limited"));
	return true;
}
