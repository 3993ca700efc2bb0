#include "common/kernel/environment.h"

#include <errno.h>

#include "common/base/fail.h"
#include "common/kernel/ethtool.h"
#include "tests/unit/cut.h"
#include "tests/unit/scratch.h"

static struct arena arena;

static const char *value_of(const struct environment *e, const char *key)
{
	for (size_t i = 0; i < e->count; i++)
		if (!strcmp(e->items[i].key, key))
			return e->items[i].value;
	return NULL;
}

static void test_round_trip(void)
{
	struct environment_item items[] = {
		{ "kernel", "6.12.0 #1 SMP" }, { "a\tb", "c\nd\\e\r\x01\x7f" }, { "empty", "" },
		{ "utf8", "\xc3\xa9\xff" },
	};
	struct environment e = { items, 4 }, read;
	struct buf b = { 0 };

	environment_write(&e, &b);
	CHECK_STR(b.data, "kernel\t6.12.0 #1 SMP\na\\tb\tc\\nd\\\\e\\r\\x01\\x7f\nempty\t\n"
		  "utf8\t\xc3\xa9\xff\n");
	CHECK(environment_parse(&arena, buf_text(&b), &read) == 0 && read.count == 4);
	for (size_t i = 0; i < 4; i++) {
		CHECK_STR(read.items[i].key, items[i].key);
		CHECK_STR(read.items[i].value, items[i].value);
	}
	EACH_CUT(n, buf_text(&b)) {
		struct environment part = { NULL, 77 };
		int err = environment_parse(&arena, cut(buf_text(&b), n), &part);

		CHECK(err ? part.count == 77 : part.count <= 4);
		for (size_t i = 0; !err && i < part.count; i++)
			CHECK_STR(part.items[i].value, items[i].value);
	}
	buf_free(&b);
}

static bool is_refused(struct text t, const char *why)
{
	struct environment e = { NULL, 77 };

	return environment_parse(&arena, t, &e) == -EINVAL && e.count == 77 &&
		check_str(fail_text(), why, "why", __FILE__, __LINE__);
}

static void test_garbled(void)
{
	struct environment e;

	CHECK(environment_parse(&arena, TEXT(""), &e) == 0 && e.count == 0);
	CHECK(is_refused(TEXT("a\tb\nc\td"), "environment line 2: cut off"));
	CHECK(is_refused(TEXT("a b\n"), "environment line 1: no key"));
	CHECK(is_refused(TEXT("\tb\n"), "environment line 1: no key"));
	CHECK(is_refused(TEXT("\n"), "environment line 1: no key"));
	CHECK(is_refused(TEXT("a\tb\\q\n"), "environment line 1: garbled"));
	CHECK(is_refused(TEXT("a\tb\\\n"), "environment line 1: garbled"));
	CHECK(is_refused(TEXT("a\tb\\x0\n"), "environment line 1: garbled"));
	CHECK(is_refused(TEXT("a\tb\\x00\n"), "environment line 1: garbled"));
	CHECK(is_refused(TEXT("a\tb\\x 1\n"), "environment line 1: garbled"));
	CHECK(is_refused(TEXT("a\0\tb\n"), "environment line 1: garbled"));
}

static void test_ethtool(void)
{
	struct ethtool_driver d;
	struct ethtool_offloads o;

	CHECK(ethtool_parse_driver(&arena, TEXT("driver virtio_net\nversion 1.0.0\n"
						"bus 0000:00:03.0\n"), &d) == 0);
	CHECK_STR(d.driver, "virtio_net");
	CHECK_STR(d.bus, "0000:00:03.0");
	CHECK_STR(d.firmware, NULL);
	CHECK(ethtool_parse_driver(&arena, TEXT("what\n"), &d) == -EINVAL);
	CHECK(ethtool_parse_offloads(TEXT("rx_checksum 1\ntso 0\ngro 7\nlro x\n"), &o) == 0);
	CHECK(o.rx_checksum == 1 && o.tso == 0 && o.gro == -1 && o.lro == -1 && o.gso == -1);
	CHECK(ethtool_parse_offloads(TEXT(""), &o) == -EINVAL);
}

/* A file and the folders it is in. */
static void add(const char *path, const char *text)
{
	char folder[256];

	for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
		snprintf(folder, sizeof(folder), "%.*s", (int)(slash - path), path);
		if (!is_there(folder))
			make(folder);
	}
	put_text(path, text);
}

static void build_host(void)
{
	add("h/etc/os-release", "ID=x\nPRETTY_NAME=\"Some \\\"Linux\\\" 1\"\n");
	add("h/proc/cmdline", "ro quiet  mitigations=off\n");
	add("h/proc/sys/kernel/osrelease", "6.1.0\n");
	add("h/proc/sys/kernel/version", "#1 SMP\n");
	add("h/proc/sys/kernel/sched_rt_runtime_us", "950000\n");
	add("h/proc/sys/net/ipv4/tcp_rmem", "4096\t131072\t6291456\n");
	add("h/proc/sys/net/ipv4/ip_local_reserved_ports", "\n");
	add("h/proc/sys/net/netfilter/nf_conntrack_max", "262144\n");
	add("h/proc/sys/net/netfilter/nf_conntrack_count", "17\n");
	add("h/proc/sys/net/netfilter/nf_conntrack_tcp_timeout_time_wait", "120\n");
	add("h/proc/cpuinfo",
	    "processor\t: 0\nmodel name\t: CPU  X\nflags\t\t: fpu hypervisor sse\n");
	add("h/proc/meminfo",
	    "MemTotal:  1000 kB\nHugePages_Total:       3\nHugepagesize:  2048 kB\n");
	add("h/sys/devices/system/cpu/online", "0-3\n");
	add("h/sys/devices/system/node/online", "0-1\n");
	add("h/sys/devices/system/node/node0/cpulist", "0-1\n");
	add("h/sys/devices/system/node/node1/cpulist", "2-3\n");
	add("h/sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "powersave\n");
	add("h/sys/devices/system/cpu/cpufreq/policy1/scaling_governor", "performance\n");
	add("h/sys/devices/system/cpu/cpufreq/policy2/scaling_governor", "powersave\n");
	add("h/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
	add("h/sys/kernel/security/lockdown", "none integrity confidentiality\n");
	add("h/sys/class/net/eth0/device/vendor", "0x1af4\n");
	add("h/sys/class/net/eth0/mtu", "1500\n");
	add("h/sys/class/net/eth0/speed", "-1\n");
	add("h/sys/class/net/eth0/queues/rx-0/rps_cpus", "0\n");
	add("h/sys/class/net/eth0/queues/tx-0/xps_cpus", "0\n");
	add("h/sys/class/net/eth0/queues/tx-1/xps_cpus", "0\n");
	add("h/sys/class/net/veth7/mtu", "1500\n");
}

static void test_host(void)
{
	struct environment e;

	build_host();
	open_root("h");
	environment_read(&arena, &e);
	CHECK_STR(value_of(&e, "distribution"), "Some \"Linux\" 1");
	CHECK_STR(value_of(&e, "kernel"), "6.1.0 #1 SMP");
	CHECK_STR(value_of(&e, "kernel_command_line"), "ro quiet mitigations=off");
	CHECK_STR(value_of(&e, "cpu_model"), "CPU X");
	CHECK_STR(value_of(&e, "hypervisor"), "yes");
	CHECK_STR(value_of(&e, "cpus_online"), "0-3");
	CHECK_STR(value_of(&e, "numa_node1_cpus"), "2-3");
	CHECK_STR(value_of(&e, "cpufreq_governor"), "performance, powersave");
	CHECK_STR(value_of(&e, "transparent_hugepages"), "madvise");
	CHECK_STR(value_of(&e, "lockdown"), NULL);
	CHECK_STR(value_of(&e, "memory_total_bytes"), "1024000");
	CHECK_STR(value_of(&e, "hugepages_total"), "3");
	CHECK_STR(value_of(&e, "hugepage_size_bytes"), "2097152");
	CHECK_STR(value_of(&e, "swap_total_bytes"), NULL);
	CHECK_STR(value_of(&e, "sysctl kernel.sched_rt_runtime_us"), "950000");
	CHECK_STR(value_of(&e, "sysctl net.ipv4.tcp_rmem"), "4096 131072 6291456");
	CHECK_STR(value_of(&e, "sysctl net.ipv4.ip_local_reserved_ports"), "");
	CHECK_STR(value_of(&e, "sysctl net.netfilter.nf_conntrack_max"), "262144");
	CHECK_STR(value_of(&e, "sysctl net.netfilter.nf_conntrack_tcp_timeout_time_wait"), "120");
	CHECK_STR(value_of(&e, "sysctl net.netfilter.nf_conntrack_count"), NULL);
	CHECK_STR(value_of(&e, "nic eth0 mtu"), "1500");
	CHECK_STR(value_of(&e, "nic eth0 queues"), "rx 1 tx 2");
	CHECK_STR(value_of(&e, "nic eth0 speed"), NULL);
	CHECK_STR(value_of(&e, "nic veth7 mtu"), NULL);
	close_all();
}

int main(void)
{
	if (!scratch_begin("environment"))
		return 1;
	test_round_trip();
	test_garbled();
	test_ethtool();
	test_host();
	scratch_end();
	arena_free(&arena);
	return check_done("environment");
}
