/* Network interfaces, their interrupts and queues. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "applets/irqbind/irqbind.h"
#include "common/base/scan.h"
#include "common/kernel/source.h"

#define NICS_MAX 1024u

struct reader {
	struct out *out;
	struct look *look;
	size_t cap;
	struct src_names all;          /* sys/class/net */
};

static uint64_t number_in(struct arena *a, const char *nic, const char *file)
{
	struct text t;
	uint64_t n;

	if (src_read(arena_printf(a, "sys/class/net/%s/%s", nic, file), &t) < 0)
		return NA_U64;
	struct scan s = scan_of(t);

	return scan_u64(&s, &n) ? n : NA_U64;  /* node -1: none */
}

static bool is_up(struct arena *a, const char *nic)
{
	struct text t;

	return src_read(arena_printf(a, "sys/class/net/%s/operstate", nic), &t) < 0 ||
		!text_starts(t, "down");
}

static void count_queues(struct arena *a, struct nic *n)
{
	struct src_names names;

	if (src_list(arena_printf(a, "sys/class/net/%s/queues", n->name), &names) < 0)
		return;
	for (size_t i = 0; i < names.count; i++) {
		n->rx_queues += !strncmp(names.items[i], "rx-", 3);
		n->tx_queues += !strncmp(names.items[i], "tx-", 3);
	}
}

/* ---- interrupts ---- */

static int by_number(const void *a, const void *b)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static size_t all_lines(const struct look *l, uint32_t *list)
{
	size_t n = 0;

	for (uint32_t number = 0, seen = 0; seen < l->all_names.used && number < IRQS_MAX; number++)
		if (hash_find_number(&l->all_names, number)) {
			seen++;
			list[n++] = number;
		}
	return n;
}

/* No folder lists them: those whose name speaks of the interface. */
static size_t list_by_name(struct look *l, const char *nic, uint32_t **list)
{
	uint32_t *all = arena_alloc(&l->arena, (l->all_names.used + 1) * sizeof(*all));
	const size_t count = all_lines(l, all);
	size_t n = 0;

	for (size_t i = 0; i < count; i++) {
		const char *name = hash_find_number(&l->all_names, all[i]);

		if (irq_name_has(text_of(name), nic))
			all[n++] = all[i];
	}
	*list = all;
	return n;
}

/* The name as /proc/interrupts has it; of one that is not there, its own folder's. */
static const char *name_of(struct look *l, uint32_t number)
{
	const char *name = hash_find_number(&l->all_names, number);
	struct text t;

	if (name && *name)
		return name;
	if (src_readf(&t, "sys/kernel/irq/%u/actions", number) < 0)
		return NULL;
	while (t.len && strchr(" \n", t.data[t.len - 1]))
		t.len--;
	return t.len ? arena_text(&l->arena, t) : NULL;
}

/* Without a queue among the names all are queues, in order: one line, or a driver unheard of. */
static void number_queues(struct nic *n)
{
	uint64_t blocks = 0;

	for (size_t i = 0; i < n->irq_count; i++) {
		const struct nic_irq *q = &n->irqs[i];

		blocks += q->name && strstr(q->name, "ntfy-blk") != NULL;
	}
	bool has_queue = false;

	for (size_t i = 0; i < n->irq_count; i++) {
		struct nic_irq *q = &n->irqs[i];

		if (q->name)
			irq_parse_name(q->name, &q->role);
		if (q->name && blocks)
			irq_split_gve(&q->role, q->name, blocks);
		has_queue |= q->role.use != IRQ_OTHER;
	}
	for (size_t i = 0; !has_queue && i < n->irq_count; i++)
		n->irqs[i].role = (struct irq_name){ IRQ_BOTH, i };
}

static void read_irqs(struct reader *r, struct nic *n)
{
	struct look *l = r->look;
	uint32_t *list;
	size_t count, kept = 0;

	if (irq_list(&l->arena, n->device, &list, &count) < 0)
		count = list_by_name(l, n->name, &list);
	if (count)
		qsort(list, count, sizeof(*list), by_number);
	n->irqs = arena_alloc(&l->arena, (count + 1) * sizeof(*n->irqs));
	for (size_t i = 0; i < count; i++) {
		const char *name = name_of(l, list[i]);
		struct nic_irq *q = &n->irqs[kept];

		/* a vector nobody asked for has no name and gets no interrupts */
		if (!name)
			continue;
		*q = (struct nic_irq){ .name = name, .role = { IRQ_OTHER, NA_U64 } };
		q->is_known = irq_read(&l->arena, list[i], &q->irq) >= 0;
		if (!q->is_known)
			out_missing(r->out, "%s: %s", n->name, fail_text());
		q->irq.number = list[i];
		kept++;
	}
	n->irq_count = kept;
	number_queues(n);
}

/* ---- interfaces ---- */

static void add_nic(struct reader *r, const char *name, const char *bond)
{
	struct look *l = r->look;
	struct arena *a = &l->arena;
	struct ethtool_driver driver;

	if (nic_find(l, name) || l->nic_count == NICS_MAX)
		return;
	struct nic *n = &l->nics[l->nic_count++];

	*n = (struct nic){ .name = arena_strdup(a, name), .bond = bond, .node = NA_U64 };
	n->device = irq_device_path(a, name);
	n->is_up = is_up(a, name);
	n->node = n->device ? number_in(a, name, "device/numa_node") : NA_U64;
	if (n->node == NA_U64 && n->device && strstr(n->device, "/virtio")) {
		const char *slash = strrchr(n->device, '/');
		struct text t;

		/* virtio's PCI device is one level up */
		if (src_readf(&t, "%.*s/numa_node", (int)(slash - n->device), n->device) >= 0 &&
		    !scan_u64(&(struct scan){ t.data, t.data + t.len }, &n->node))
			n->node = NA_U64;
	}
	if (irqbind.topo.nodes < 2)
		n->node = NA_U64;
	n->rx_packets = number_in(a, name, "statistics/rx_packets");
	n->rx_lost = sum_u64(number_in(a, name, "statistics/rx_missed_errors"),
			     number_in(a, name, "statistics/rx_fifo_errors"));
	if (out_wants_rows(r->out) && ethtool_read_driver(name, &driver) >= 0) {
		n->driver = arena_strdup(a, driver.driver);
		n->firmware = arena_strdup(a, driver.firmware);
	}
	count_queues(a, n);
	if (n->device)
		read_irqs(r, n);
}

/* A bond has no interrupts: those below it have. */
static void add_named(struct reader *r, const char *name)
{
	struct arena *a = &r->look->arena;
	struct text t, word;

	if (src_read(arena_printf(a, "sys/class/net/%s/bonding/slaves", name), &t) < 0) {
		add_nic(r, name, NULL);
		return;
	}
	struct scan s = scan_of(t);
	const char *bond = arena_strdup(a, name);

	while (s.end > s.at && s.end[-1] == '\n')
		s.end--;
	while (scan_word(&s, &word)) {
		const char *slave = arena_text(a, word);

		if (!strchr(slave, '/'))
			add_nic(r, slave, bond);
	}
}

static bool is_there(const struct reader *r, const char *name)
{
	for (size_t i = 0; i < r->all.count; i++)
		if (!strcmp(r->all.items[i], name))
			return true;
	return false;
}

int nics_read(struct out *out, struct look *l)
{
	struct reader r = { .out = out, .look = l };
	int err = src_list("sys/class/net", &r.all);

	if (err < 0 && irqbind.name_count)
		return err;
	if (err < 0) {
		out_missing(out, "%s", fail_text());
		return 0;
	}
	/* a bond's are more than were named */
	l->nics = arena_alloc(&l->arena, NICS_MAX * sizeof(*l->nics));
	for (size_t i = 0; i < irqbind.name_count; i++) {
		if (!is_there(&r, irqbind.names[i])) {
			if (irqbind.look_count == 1)
				return fail(ENODEV, "%s: no such interface", irqbind.names[i]);
			out_missing(out, "%s: no such interface any more", irqbind.names[i]);
			continue;
		}
		add_named(&r, irqbind.names[i]);
	}
	for (size_t i = 0; !irqbind.name_count && i < r.all.count; i++)
		if (!strchr(r.all.items[i], '/') && irq_device_path(src_arena(), r.all.items[i]))
			add_nic(&r, r.all.items[i], NULL);
	return 0;
}

const struct nic *nic_find(const struct look *l, const char *name)
{
	for (size_t i = 0; i < l->nic_count; i++)
		if (!strcmp(l->nics[i].name, name))
			return &l->nics[i];
	return NULL;
}

void nic_irq_cpus(const struct nic *n, struct cpumask *m)
{
	*m = (struct cpumask){ { 0 } };
	for (size_t i = 0; i < n->irq_count; i++) {
		const struct nic_irq *q = &n->irqs[i];

		if (q->is_known && q->role.use != IRQ_OTHER)
			cpumask_or(m, q->irq.has_effective ? &q->irq.effective : &q->irq.asked);
	}
}

const char *irq_role_text(struct arena *a, const struct irq_name *role)
{
	static const char *const prefixes[] = { [IRQ_RX] = "rx-", [IRQ_TX] = "tx-",
						[IRQ_BOTH] = "" };

	if (role->use == IRQ_OTHER)
		return "-";
	return arena_printf(a, "%s%llu", prefixes[role->use], (unsigned long long)role->queue);
}
