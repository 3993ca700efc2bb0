#include "common/kernel/irq.h"

#include <errno.h>

#include "common/base/buf.h"
#include "common/kernel/ethtool_queues.h"
#include "common/kernel/interrupts.h"
#include "common/kernel/irqbalance.h"
#include "common/kernel/softnet.h"
#include "tests/unit/cut.h"
#include "tests/unit/host.h"

static struct arena arena;

static bool is_named(const char *name, enum irq_use use, uint64_t queue)
{
	struct irq_name n;

	irq_parse_name(name, &n);
	return n.use == use && n.queue == queue;
}

static void test_names(void)
{
	struct irq_name n;

	CHECK(is_named("virtio2-input.0", IRQ_RX, 0) && is_named("virtio2-output.7", IRQ_TX, 7));
	CHECK(is_named("virtio2-config", IRQ_OTHER, NA_U64));
	CHECK(is_named("eth0-TxRx-12", IRQ_BOTH, 12) && is_named("i40e-eth0-TxRx-3", IRQ_BOTH, 3));
	CHECK(is_named("ens5-Tx-Rx-4", IRQ_BOTH, 4));
	CHECK(is_named("ena-mgmnt@pci:0000:00:05.0", IRQ_OTHER, NA_U64));
	CHECK(is_named("mlx5_comp3@pci:0000:3b:00.1", IRQ_BOTH, 3));
	CHECK(is_named("mlx5_async0@pci:0000:3b:00.1", IRQ_OTHER, NA_U64));
	CHECK(is_named("mlx4-5@0000:03:00.0", IRQ_BOTH, 5));
	CHECK(is_named("eth0-rx-1", IRQ_RX, 1) && is_named("eth0-tx-0", IRQ_TX, 0));
	CHECK(is_named("eth0-rxtx-2", IRQ_BOTH, 2) && is_named("eth0-fp-1", IRQ_BOTH, 1));
	CHECK(is_named("hns3-0000:7d:00.0-TxRx-6", IRQ_BOTH, 6));
	CHECK(is_named("eth0", IRQ_OTHER, NA_U64) && is_named("", IRQ_OTHER, NA_U64));
	CHECK(is_named("@5", IRQ_OTHER, NA_U64));
	CHECK(is_named("eth0-rx-99999999999999999999", IRQ_OTHER, NA_U64));
	CHECK(is_named("eth0-rx-18446744073709551615", IRQ_OTHER, NA_U64));
	irq_parse_name("gve-ntfy-blk5@pci:0000:00:04.0", &n);
	irq_split_gve(&n, "gve-ntfy-blk5@pci:0000:00:04.0", 8);
	CHECK(n.use == IRQ_RX && n.queue == 1);
	irq_parse_name("gve-ntfy-blk3@pci", &n);
	irq_split_gve(&n, "gve-ntfy-blk3@pci", 8);
	CHECK(n.use == IRQ_TX && n.queue == 3);
	CHECK(irq_name_has(TEXT("i40e-eth0-TxRx-3"), "eth0") && irq_name_has(TEXT("eth0"), "eth0"));
	CHECK(!irq_name_has(TEXT("eth01-rx-0"), "eth0") && !irq_name_has(TEXT("veth0-1"), "eth0"));
	CHECK(!irq_name_has(TEXT("eth0.5-rx"), "eth0") && !irq_name_has(TEXT("eth0"), ""));
}

static const struct text lines = TEXT(
	"           CPU0       CPU2       \n"
	"  0:         44          0   IO-APIC   2-edge      timer\n"
	" 38:          0 4294967295 PCI-MSIX-0000:00:03.0   1-edge      virtio2-input.0\n"
	" 71:          1          2  PCI-MSI 524288-edge      nvidia, nvidia-uvm  \n"
	" 72:          1\n"
	" 73:          x          2  IO-APIC\n"
	"NMI:          3          4   Non-maskable interrupts\n");

static void test_lines(void)
{
	struct interrupts i;
	struct interrupts_line l;
	struct text what;
	unsigned cpus[2];
	uint32_t counts[2];

	CHECK(interrupts_start(&i, lines) == 0 && i.columns == 2);
	CHECK(interrupts_cpus(&i, 8, cpus) == 0 && cpus[0] == 0 && cpus[1] == 2);
	CHECK(interrupts_cpus(&i, 2, cpus) == -EINVAL);
	CHECK(interrupts_next(&i, &l) && text_is(l.name, "0"));
	CHECK(interrupts_counts(&i, &l, counts, &what) && counts[0] == 44 && !counts[1]);
	CHECK(text_is(what, "timer"));
	CHECK(interrupts_next(&i, &l) && interrupts_counts(&i, &l, counts, &what));
	CHECK(counts[1] == UINT32_MAX && text_is(what, "virtio2-input.0"));
	CHECK(interrupts_next(&i, &l) && interrupts_counts(&i, &l, counts, &what));
	CHECK(text_is(what, "nvidia, nvidia-uvm"));
	CHECK(interrupts_next(&i, &l) && !interrupts_counts(&i, &l, counts, &what));
	CHECK(interrupts_next(&i, &l) && !interrupts_counts(&i, &l, counts, &what));
	CHECK(interrupts_next(&i, &l) && text_is(l.name, "NMI"));
	CHECK(!interrupts_next(&i, &l));
	CHECK(interrupts_start(&i, TEXT("")) == -EINVAL);
	CHECK(interrupts_start(&i, TEXT("  0: 1\n")) == -EINVAL);
	EACH_CUT(n, lines) {
		unsigned whole = 0;

		if (interrupts_start(&i, cut(lines, n)) < 0)
			continue;
		while (interrupts_next(&i, &l))
			whole += interrupts_counts(&i, &l, counts, NULL);
		CHECK(whole <= 4);
	}
}

static void test_softnet(void)
{
	struct softnet_cpu *list;
	size_t count;

	CHECK(softnet_parse_cpus(&arena, TEXT("0000000a 1 2 0 0 0 0 0 0 5 6 7 00000003 0 0\n"
					      "ffffffff 0 0 0 0 0 0 0 0 0 0 0 00000009\n"),
				 &list, &count) == 0 && count == 2);
	CHECK(list[0].processed == 10 && list[0].dropped == 1 && list[0].squeezed == 2);
	CHECK(list[0].steered == 5 && list[0].flow_limited == 6 && list[0].backlog == 7);
	CHECK(list[0].cpu == 3 && list[1].cpu == 9 && list[1].processed == UINT32_MAX);
	/* 2.6.32: no RPS column, no CPU */
	CHECK(softnet_parse_cpus(&arena, TEXT("1 2 3 0 0 0 0 0 0\n"), &list, &count) == 0);
	CHECK(list[0].steered == NA_U64 && list[0].cpu == NA_U64);
	CHECK(softnet_parse_cpus(&arena, TEXT("1 2\n"), &list, &count) == -EINVAL);
	CHECK(softnet_parse_cpus(&arena, TEXT("1 2 3"), &list, &count) == -EINVAL);
	CHECK(softnet_parse_cpus(&arena, TEXT(""), &list, &count) == -EINVAL);
	CHECK(softnet_parse_cpus(&arena, TEXT("1 2 100000000\n"), &list, &count) == -EINVAL);
}

static void test_ethtool(void)
{
	uint64_t v[ETHTOOL_VALUES_MAX] = { 9 };
	struct nic_rss rss = { 7, 7 };
	const uint32_t table[] = { 0, 1, 2, 1, 0, 70000 };
	/* rings: rx max (2), rx (6); tx max (5) is 0: there is none */
	const uint16_t attrs[] = { 8, 2, 4096, 0, 8, 6, 512, 0, 8, 5, 0, 0, 8, 9, 77, 0 };

	ethtool_parse_attrs(ETHTOOL_RINGS, (struct text){ (const char *)attrs, sizeof(attrs) }, v);
	CHECK(v[0] == 512 && v[1] == 4096 && v[2] == NA_U64 && v[3] == NA_U64);
	ethtool_parse_attrs(ETHTOOL_RINGS, (struct text){ (const char *)attrs, 7 }, v);
	CHECK(v[0] == NA_U64 && v[1] == NA_U64);
	CHECK(ethtool_parse_lines(ETHTOOL_CHANNELS, TEXT("combined 4\ncombined_max 8\nrx 0\n"
							 "rx_max 0\n"), v) == 0);
	CHECK(v[6] == 4 && v[7] == 8 && v[0] == NA_U64 && v[1] == NA_U64);
	CHECK(ethtool_parse_lines(ETHTOOL_COALESCE, TEXT("tx_us 5\n"), v) == 0 && v[2] == 5);
	CHECK(ethtool_parse_lines(ETHTOOL_RINGS, TEXT("speed 5\n"), v) == -EINVAL);
	CHECK(ethtool_parse_rss((struct text){ (const char *)table, sizeof(table) }, &rss) == 0);
	CHECK(rss.entries == 6 && rss.queues == 3);
	CHECK(ethtool_parse_rss((struct text){ (const char *)table, 7 }, &rss) == -EINVAL);
	CHECK(ethtool_parse_rss(TEXT(""), &rss) == -EINVAL && rss.entries == 6);
}

static void test_irqbalance(void)
{
	struct buf b = { 0 };

	irqbalance_add_args(&b, TEXT("/usr/sbin/irqbalance\0--foreground\0--banirq=24\0-i\0" "25\0"
				     "--banirq\0" "26\0-p\0" "5\0"));
	CHECK_STR(b.data, "--banirq=24 -i 25 --banirq 26");
	irqbalance_add_settings(&b, TEXT("# IRQBALANCE_BANNED_CPUS=1\n"
					 "IRQBALANCE_BANNED_CPULIST=2-3\n"
					 "ONESHOT=\nIRQBALANCE_ARGS=\"\"\nOPTIONS=-x"));
	CHECK_STR(b.data, "--banirq=24 -i 25 --banirq 26 IRQBALANCE_BANNED_CPULIST=2-3 OPTIONS=-x");
	buf_free(&b);
}

static void test_tree(void)
{
	uint32_t *list;
	size_t count;
	struct irq irq;
	struct irqbalance b;

	host_add("t/sys/devices/pci0/0000:00:03.0/msi_irqs/39", "msix\n");
	host_add("t/sys/devices/pci0/0000:00:03.0/msi_irqs/38", "msix\n");
	host_add("t/sys/devices/pci0/0000:00:03.0/virtio2/net/eth0/mtu", "1500\n");
	host_add("t/sys/devices/pci0/0000:00:04.0/irq", "17\n");
	host_add("t/sys/devices/virtual/net/veth0/mtu", "1500\n");
	host_add("t/sys/class/net/bonding_masters", "\n");
	host_link("t/sys/class/net/eth0", "../../devices/pci0/0000:00:03.0/virtio2/net/eth0");
	host_link("t/sys/class/net/veth0", "../../devices/virtual/net/veth0");
	host_add("t/proc/irq/38/smp_affinity", "00000001,00000000\n");
	host_add("t/proc/irq/38/affinity_hint", "3\n");
	host_add("t/proc/irq/38/node", "-1\n");
	host_add("t/proc/irq/39/smp_affinity_list", "0-x\n");
	host_add("t/proc/612/comm", "irqbalance\n");
	host_add("t/run/irqbalance.pid", "99\n");
	open_root("t");
	const char *path = irq_device_path(&arena, "eth0");

	CHECK_STR(path, "sys/devices/pci0/0000:00:03.0/virtio2");
	CHECK(!irq_device_path(&arena, "veth0") && !irq_device_path(&arena, "bonding_masters"));
	CHECK(!irq_device_path(&arena, "../net/eth0") && !irq_device_path(&arena, "none"));
	CHECK(irq_list(&arena, path, &list, &count) == 0 && count == 2 && list[0] == 38);
	CHECK(irq_list(&arena, "sys/devices/pci0/0000:00:04.0", &list, &count) == 0 &&
	      count == 1 && list[0] == 17);
	CHECK(irq_list(&arena, "sys/devices/virtual", &list, &count) == -ENOENT);
	CHECK(irq_read(&arena, 38, &irq) == 0 && cpumask_has(&irq.asked, 32));
	CHECK(!irq.has_effective && irq.node == NA_U64 && irq.managed == IRQ_MANAGED_UNKNOWN);
	CHECK_STR(irq.hint, "0-1");
	CHECK(irq_read(&arena, 39, &irq) == -EINVAL && irq_read(&arena, 40, &irq) == -ENOENT);
	irqbalance_find(&arena, false, &b);
	CHECK(b.pid == 0);
	irqbalance_find(&arena, true, &b);
	CHECK(b.pid == 612 && !b.bans);
	close_all();
}

int main(void)
{
	if (!scratch_begin("irq"))
		return 1;
	test_names();
	test_lines();
	test_softnet();
	test_ethtool();
	test_irqbalance();
	test_tree();
	arena_free(&arena);
	scratch_end();
	return check_done("irq");
}
