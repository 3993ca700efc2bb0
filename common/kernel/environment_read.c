/* What of a host is in the record: what two runs must share, and nothing that moves by itself. */
#include "common/kernel/environment.h"

#include <stdint.h>
#include <stdlib.h>

#include "common/base/na.h"
#include "common/base/scan.h"
#include "common/kernel/cgroup.h"
#include "common/kernel/ethtool.h"
#include "common/kernel/netdev.h"
#include "common/kernel/source.h"

#define NODES_MAX 1024                 /* MAX_NUMNODES of the largest kernels */
#define NICS_MAX 64
#define KIB 1024u

struct record {
	struct arena *arena;
	struct environment_item *items;
	size_t count, cap;
};

/* NULL: it could not be read, and is left out. Empty is a value, as of reserved ports. */
static void add(struct record *r, const char *key, const char *value)
{
	if (!value)
		return;
	r->items = mem_grow(r->items, &r->cap, r->count + 1, sizeof(*r->items));
	r->items[r->count++] = (struct environment_item){
		arena_strdup(r->arena, key), arena_strdup(r->arena, value)
	};
}

static void add_number(struct record *r, const char *key, uint64_t n)
{
	if (n != NA_U64)
		add(r, key, arena_printf(r->arena, "%llu", (unsigned long long)n));
}

/* Words with one space between them: sysctls of several numbers have tabs. NULs become spaces. */
static const char *words_of(struct arena *arena, struct text t)
{
	char *copy = arena_alloc(arena, t.len + 1), *to = copy;

	for (size_t i = 0; i < t.len; i++) {
		const char c = t.data[i];
		bool is_blank = c == ' ' || c == '\t' || c == '\n' || c == '\0';

		if (!is_blank)
			*to++ = c;
		else if (to > copy && to[-1] != ' ')
			*to++ = ' ';
	}
	while (to > copy && to[-1] == ' ')
		to--;
	*to = '\0';
	return copy;
}

/* What a small file says, NULL if it can't be read. */
static const char *file_words(struct arena *arena, const char *path)
{
	struct text t;

	return src_read(path, &t) < 0 ? NULL : words_of(arena, t);
}

/* "always [madvise] never": the chosen word. */
static const char *file_choice(struct arena *arena, const char *path)
{
	struct text t, chosen;

	if (src_read(path, &t) < 0)
		return NULL;
	struct scan s = scan_of(t);

	if (!scan_until(&s, '[', &chosen) || !scan_until(&s, ']', &chosen))
		return NULL;
	return arena_text(arena, chosen);
}

struct file_item {
	const char *key, *path;
};

static void add_files(struct record *r, const struct file_item *files, size_t count,
		      const char *(*read)(struct arena *arena, const char *path))
{
	for (size_t i = 0; i < count; i++)
		add(r, files[i].key, read(r->arena, files[i].path));
}

/* ---- distribution, kernel ---- */

/* os-release(5): PRETTY_NAME="...", as a shell would read it. */
static const char *pretty_name(struct arena *arena, struct text t)
{
	struct scan lines = scan_of(t);
	struct text line;

	while (scan_line(&lines, &line)) {
		struct scan s = scan_of(line);

		if (!scan_literal(&s, "PRETTY_NAME="))
			continue;
		char *copy = arena_alloc(arena, line.len + 1), *to = copy;
		const char quote = s.at < s.end && (*s.at == '"' || *s.at == '\'') ? *s.at++ : '\0';

		for (; s.at < s.end && !(quote && *s.at == quote); s.at++) {
			if (*s.at == '\\' && quote != '\'' && s.end - s.at > 1)
				s.at++;
			*to++ = *s.at;
		}
		return copy;
	}
	return NULL;
}

static void add_system(struct record *r)
{
	const struct src_uname *name = src_uname();
	struct text t;

	/* the first is a link to the second, which a container may not have */
	if (src_read("etc/os-release", &t) >= 0 || src_read("usr/lib/os-release", &t) >= 0)
		add(r, "distribution", pretty_name(r->arena, t));
	if (name && name->release && name->version)
		add(r, "kernel", arena_printf(r->arena, "%s %s", name->release, name->version));
	else if (name)
		add(r, "kernel", name->release);
	add(r, "architecture", name ? name->machine : NULL);
	add(r, "kernel_command_line", file_words(r->arena, "proc/cmdline"));
	add(r, "lockdown", file_choice(r->arena, "sys/kernel/security/lockdown"));
}

/* ---- processors, memory ---- */

/* The value of the first "KEY : VALUE" line of /proc/cpuinfo with this key. */
static bool cpuinfo_value(struct text t, const char *key, struct text *value)
{
	struct scan lines = scan_of(t);
	struct text line, name;

	while (scan_line(&lines, &line)) {
		struct scan s = scan_of(line);

		if (!scan_until(&s, ':', &name))
			continue;
		while (name.len && memchr(" \t", name.data[name.len - 1], 2))
			name.len--;
		if (!text_is(name, key))
			continue;
		*value = scan_rest(&s);
		return true;
	}
	return false;
}

static void add_cpuinfo(struct record *r)
{
	/* of x86 and s390, mips, powerpc, riscv, arm64, arm */
	static const char *const names[] = {
		"model name", "cpu model", "cpu", "uarch", "CPU part", "Processor"
	};
	struct text t, value, word;

	if (src_read("proc/cpuinfo", &t) < 0)
		return;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (cpuinfo_value(t, names[i], &value)) {
			add(r, "cpu_model", words_of(r->arena, value));
			break;
		}
	if (!cpuinfo_value(t, "flags", &value))        /* x86 only */
		return;
	struct scan s = scan_of(value);
	bool has_hypervisor = false;

	while (scan_word(&s, &word))
		has_hypervisor = has_hypervisor || text_is(word, "hypervisor");
	add(r, "hypervisor", has_hypervisor ? "yes" : "no");
}

static void add_node(unsigned node, void *arg)
{
	struct record *r = arg;
	const char *path = arena_printf(r->arena, "sys/devices/system/node/node%u/cpulist", node);

	add(r, arena_printf(r->arena, "numa_node%u_cpus", node), file_words(r->arena, path));
}

static void add_cpus(struct record *r)
{
	static const struct file_item files[] = {
		{ "machine_vendor", "sys/class/dmi/id/sys_vendor" },
		{ "machine", "sys/class/dmi/id/product_name" },
		{ "cpus_online", "sys/devices/system/cpu/online" },
		{ "cpus_possible", "sys/devices/system/cpu/possible" },
		{ "cpus_isolated", "sys/devices/system/cpu/isolated" },
		{ "cpus_nohz_full", "sys/devices/system/cpu/nohz_full" },
		{ "smt", "sys/devices/system/cpu/smt/control" },
		{ "numa_nodes", "sys/devices/system/node/online" },
	};
	struct text nodes;

	add_cpuinfo(r);
	add_files(r, files, sizeof(files) / sizeof(*files), file_words);
	if (src_read("sys/devices/system/node/online", &nodes) >= 0)
		scan_cpu_list(nodes, NODES_MAX, add_node, r);
}

static uint64_t meminfo_value(struct text meminfo, const char *key, unsigned unit)
{
	uint64_t n, product;

	if (!scan_key_u64(meminfo, key, &n) || __builtin_mul_overflow(n, unit, &product))
		return NA_U64;
	return product;
}

static void add_memory(struct record *r)
{
	static const struct file_item choices[] = {
		{ "transparent_hugepages", "sys/kernel/mm/transparent_hugepage/enabled" },
		{ "transparent_hugepages_defrag", "sys/kernel/mm/transparent_hugepage/defrag" },
	};
	struct text t;

	if (src_read("proc/meminfo", &t) >= 0) {
		add_number(r, "memory_total_bytes", meminfo_value(t, "MemTotal", KIB));
		add_number(r, "swap_total_bytes", meminfo_value(t, "SwapTotal", KIB));
		add_number(r, "hugepages_total", meminfo_value(t, "HugePages_Total", 1));
		add_number(r, "hugepage_size_bytes", meminfo_value(t, "Hugepagesize", KIB));
	}
	add_number(r, "page_size_bytes", src_page_size());
	add_files(r, choices, sizeof(choices) / sizeof(*choices), file_choice);
}

/* ---- clocks, frequencies, groups ---- */

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

#define CPUFREQ "sys/devices/system/cpu/cpufreq"

/* The different values of one file of all policies: "powersave", or "performance, powersave". */
static const char *policies(struct arena *arena, const char *file)
{
	struct src_names names;
	struct buf joined = { 0 };

	if (src_list(CPUFREQ, &names) < 0)
		return NULL;
	const char **values = arena_alloc(arena, names.count * sizeof(*values));
	size_t count = 0;

	for (size_t i = 0; i < names.count; i++) {
		if (!text_starts(text_of(names.items[i]), "policy"))
			continue;
		const char *path = arena_printf(arena, CPUFREQ "/%s/%s", names.items[i], file);

		values[count] = file_words(arena, path);
		count += values[count] != NULL;
	}
	if (count)
		qsort(values, count, sizeof(*values), by_text);
	for (size_t i = 0; i < count; i++)
		if (!i || strcmp(values[i], values[i - 1]) != 0)
			buf_printf(&joined, "%s%s", joined.len ? ", " : "", values[i]);
	const char *text = joined.len ? arena_text(arena, buf_text(&joined)) : NULL;

	buf_free(&joined);
	return text;
}

static void add_clocks(struct record *r)
{
	static const struct file_item files[] = {
		{ "cpufreq_boost", CPUFREQ "/boost" },
		{ "intel_no_turbo", "sys/devices/system/cpu/intel_pstate/no_turbo" },
		{ "cpuidle_driver", "sys/devices/system/cpu/cpuidle/current_driver" },
		{ "clocksource",
		  "sys/devices/system/clocksource/clocksource0/current_clocksource" },
	};
	struct cgroup_layout layout;

	add(r, "cpufreq_governor", policies(r->arena, "scaling_governor"));
	add(r, "cpufreq_driver", policies(r->arena, "scaling_driver"));
	add_files(r, files, sizeof(files) / sizeof(*files), file_words);
	if (cgroup_find(r->arena, &layout) >= 0)
		add(r, "cgroup_mode", cgroup_mode_name(layout.mode));
}

/* ---- sysctls ---- */

static const char *sysctl_path(struct arena *arena, const char *name)
{
	char *path = arena_printf(arena, "proc/sys/%s", name);

	for (char *p = path; *p; p++)
		if (*p == '.')
			*p = '/';
	return path;
}

static void add_sysctl(struct record *r, const char *name)
{
	const char *value = file_words(r->arena, sysctl_path(r->arena, name));

	add(r, arena_printf(r->arena, "sysctl %s", name), value);
}

/* All of a folder whose names start alike, except the one that is a reading. */
static void add_sysctls_of(struct record *r, const char *folder, const char *prefix,
			   const char *except)
{
	struct src_names names;

	if (src_list(sysctl_path(r->arena, folder), &names) < 0)
		return;
	for (size_t i = 0; i < names.count; i++) {
		const char *name = names.items[i];

		if (text_starts(text_of(name), prefix) && strcmp(name, except) != 0)
			add_sysctl(r, arena_printf(r->arena, "%s.%s", folder, name));
	}
}

static void add_sysctls(struct record *r)
{
	static const char *const names[] = {
		"kernel.task_delayacct", "kernel.pid_max", "kernel.threads-max",
		"kernel.numa_balancing", "kernel.perf_event_paranoid", "kernel.timer_migration",
		"kernel.watchdog",
		"vm.overcommit_memory", "vm.overcommit_ratio", "vm.panic_on_oom",
		"vm.oom_kill_allocating_task", "vm.swappiness", "vm.zone_reclaim_mode",
		"vm.min_free_kbytes", "vm.watermark_scale_factor", "vm.dirty_ratio",
		"vm.dirty_background_ratio", "vm.nr_hugepages", "vm.max_map_count",
		"fs.file-max", "fs.nr_open",
		"net.core.somaxconn", "net.core.netdev_max_backlog", "net.core.netdev_budget",
		"net.core.netdev_budget_usecs", "net.core.dev_weight", "net.core.rmem_max",
		"net.core.wmem_max", "net.core.rmem_default", "net.core.wmem_default",
		"net.core.default_qdisc", "net.core.rps_sock_flow_entries", "net.core.busy_poll",
		"net.core.busy_read",
		"net.ipv4.tcp_max_syn_backlog", "net.ipv4.tcp_syncookies",
		"net.ipv4.tcp_abort_on_overflow", "net.ipv4.tcp_synack_retries",
		"net.ipv4.tcp_syn_retries", "net.ipv4.ip_local_port_range",
		"net.ipv4.ip_local_reserved_ports", "net.ipv4.tcp_tw_reuse",
		"net.ipv4.tcp_timestamps", "net.ipv4.tcp_fin_timeout",
		"net.ipv4.tcp_max_tw_buckets", "net.ipv4.tcp_max_orphans",
		"net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem", "net.ipv4.tcp_mem", "net.ipv4.udp_mem",
		"net.ipv4.tcp_congestion_control", "net.ipv4.tcp_mtu_probing",
		"net.ipv4.tcp_migrate_req", "net.ipv4.ip_forward",
		"net.ipv4.conf.all.rp_filter", "net.ipv4.conf.default.rp_filter",
		"net.ipv4.neigh.default.gc_thresh1", "net.ipv4.neigh.default.gc_thresh2",
		"net.ipv4.neigh.default.gc_thresh3", "net.ipv6.neigh.default.gc_thresh3",
	};

	add_sysctls_of(r, "kernel", "sched_", "");
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		add_sysctl(r, names[i]);
	add_sysctls_of(r, "net.netfilter", "nf_conntrack_", "nf_conntrack_count");
}

/* Since 5.13 the scheduler's latencies are there, for root, where debugfs is mounted. */
static void add_scheduler(struct record *r)
{
	static const struct file_item files[] = {
		{ "sched base_slice_ns", "sys/kernel/debug/sched/base_slice_ns" },
		{ "sched latency_ns", "sys/kernel/debug/sched/latency_ns" },
		{ "sched min_granularity_ns", "sys/kernel/debug/sched/min_granularity_ns" },
		{ "sched wakeup_granularity_ns", "sys/kernel/debug/sched/wakeup_granularity_ns" },
		{ "sched migration_cost_ns", "sys/kernel/debug/sched/migration_cost_ns" },
		{ "sched preempt", "sys/kernel/debug/sched/preempt" },
		{ "sched features", "sys/kernel/debug/sched/features" },
	};

	add_files(r, files, sizeof(files) / sizeof(*files), file_words);
}

/* ---- network devices ---- */

static void add_nic_file(struct record *r, const char *nic, const char *file)
{
	const char *path = arena_printf(r->arena, "sys/class/net/%s/%s", nic, file);
	const char *value = file_words(r->arena, path);

	/* speed: -1 where the link is down or there is no such thing */
	if (value && *value != '-')
		add(r, arena_printf(r->arena, "nic %s %s", nic, file), value);
}

static void add_nic_driver(struct record *r, const char *nic)
{
	const char *target, *key = arena_printf(r->arena, "nic %s driver", nic);
	struct ethtool_driver d;

	if (src_link(arena_printf(r->arena, "sys/class/net/%s/device/driver", nic), &target) >= 0) {
		const char *slash = strrchr(target, '/');

		add(r, key, slash ? slash + 1 : target);
	}
	if (ethtool_read_driver(nic, &d) < 0)
		return;
	if (!r->count || strcmp(r->items[r->count - 1].key, key) != 0)
		add(r, key, d.driver);
	add(r, arena_printf(r->arena, "nic %s driver_version", nic), d.version);
	add(r, arena_printf(r->arena, "nic %s firmware", nic), d.firmware);
}

static void add_nic_offloads(struct record *r, const char *nic)
{
	struct ethtool_offloads o;

	if (ethtool_read_offloads(nic, &o) < 0)
		return;
	const struct {
		const char *name;
		int state;
	} states[] = {
		{ "rx_checksum", o.rx_checksum }, { "tx_checksum", o.tx_checksum },
		{ "tso", o.tso }, { "gso", o.gso }, { "gro", o.gro }, { "lro", o.lro },
	};

	for (size_t i = 0; i < sizeof(states) / sizeof(*states); i++)
		if (states[i].state >= 0)
			add(r, arena_printf(r->arena, "nic %s %s", nic, states[i].name),
			    states[i].state ? "on" : "off");
}

static void add_nic_queues(struct record *r, const char *nic)
{
	struct src_names names;
	unsigned rx = 0, tx = 0;

	if (src_list(arena_printf(r->arena, "sys/class/net/%s/queues", nic), &names) < 0)
		return;
	for (size_t i = 0; i < names.count; i++) {
		rx += text_starts(text_of(names.items[i]), "rx-");
		tx += text_starts(text_of(names.items[i]), "tx-");
	}
	add(r, arena_printf(r->arena, "nic %s queues", nic),
	    arena_printf(r->arena, "rx %u tx %u", rx, tx));
}

/* Devices with hardware behind them; in a container, which has none, all but lo: others come and
 * go by themselves. */
static void add_nics(struct record *r)
{
	struct src_names names;
	bool has_hardware = false;
	unsigned added = 0;

	if (src_list("sys/class/net", &names) < 0)
		return;
	for (size_t i = 0; i < names.count; i++)
		has_hardware = has_hardware || netdev_is_hardware(names.items[i]);
	for (size_t i = 0; i < names.count && added < NICS_MAX; i++) {
		const char *nic = names.items[i];

		if (has_hardware ? !netdev_is_hardware(nic) : !strcmp(nic, "lo"))
			continue;
		add_nic_driver(r, nic);
		add_nic_file(r, nic, "speed");
		add_nic_file(r, nic, "mtu");
		add_nic_file(r, nic, "tx_queue_len");
		add_nic_queues(r, nic);
		add_nic_offloads(r, nic);
		added++;
	}
}

void environment_read(struct arena *arena, struct environment *e)
{
	struct record r = { .arena = arena };

	add_system(&r);
	add_cpus(&r);
	add_memory(&r);
	add_clocks(&r);
	add_scheduler(&r);
	add_sysctls(&r);
	add_nics(&r);
	*e = (struct environment){ arena_alloc(arena, r.count * sizeof(*r.items)), r.count };
	if (r.count)
		memcpy(e->items, r.items, r.count * sizeof(*r.items));
	free(r.items);
}
