/* Any bytes as /proc/interrupts, its names, softnet_stat by CPU, ethtool's answers and irqbalance's
 * words. */
#include "common/kernel/irq.h"

#include <assert.h>
#include <stdlib.h>

#include "common/base/buf.h"
#include "common/kernel/ethtool_queues.h"
#include "common/kernel/interrupts.h"
#include "common/kernel/irqbalance.h"
#include "common/kernel/softnet.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void take_names(struct arena *a, struct text what)
{
	struct irq_name n;
	const char *name = arena_text(a, what);

	irq_parse_name(name, &n);
	assert((n.use == IRQ_OTHER) == (n.queue == NA_U64));
	irq_split_gve(&n, name, 8);
	irq_name_has(what, "eth0");
}

static void take_lines(struct arena *a, struct text t)
{
	struct interrupts i;
	struct interrupts_line l;
	struct text what;

	if (interrupts_start(&i, t) < 0)
		return;
	unsigned *cpus = arena_alloc(a, i.columns * sizeof(*cpus));
	uint32_t *counts = arena_alloc(a, i.columns * sizeof(*counts));

	if (interrupts_cpus(&i, 448, cpus) == 0)
		for (unsigned n = 0; n < i.columns; n++)
			assert(cpus[n] < 448);
	while (interrupts_next(&i, &l))
		if (interrupts_counts(&i, &l, counts, &what))
			take_names(a, what);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct text t = { (const char *)data, size };
	struct arena a = { 0 };
	struct softnet_cpu *list;
	uint64_t values[ETHTOOL_VALUES_MAX];
	struct nic_rss rss;
	struct buf b = { 0 };
	size_t count;

	take_lines(&a, t);
	take_names(&a, t);
	if (softnet_parse_cpus(&a, t, &list, &count) == 0)
		assert(count > 0);
	for (int what = 0; what < ETHTOOL_WHATS; what++) {
		ethtool_parse_attrs((enum ethtool_what)what, t, values);
		ethtool_parse_lines((enum ethtool_what)what, t, values);
	}
	if (ethtool_parse_rss(t, &rss) == 0)
		assert(rss.queues <= rss.entries && rss.entries);
	irqbalance_add_args(&b, t);
	irqbalance_add_settings(&b, t);
	buf_free(&b);
	arena_free(&a);
	return 0;
}
