/* Which CPUs a policy takes for a device, and in which order. */
#include <string.h>

#include "applets/irqbind/irqbind.h"

bool policy_parse(const char *word, enum policy *p)
{
	static const char *const names[] = { "spread", "node", "single", "compact", "map" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(word, names[i])) {
			*p = (enum policy)i;
			return true;
		}
	return false;
}

struct picker {
	const struct cpumask *usable;
	struct cpumask taken;
	uint64_t node;
	struct policy_order *order;
};

static bool is_local(const struct picker *p, unsigned cpu)
{
	return p->node == NA_U64 || irqbind.topo.places[cpu].node == p->node;
}

/* A second hyperthread whose first one may not be used is as good as a first. */
static bool is_second(const struct picker *p, unsigned cpu)
{
	const struct cpu_place *place = &irqbind.topo.places[cpu];

	if (!place->is_second)
		return false;
	for (unsigned other = (unsigned)place->core; other < cpu; other++)
		if (irqbind.topo.places[other].core == place->core &&
		    cpumask_has(p->usable, other))
			return true;
	return false;
}

static void pick(struct picker *p, unsigned cpu)
{
	if (cpumask_has(&p->taken, cpu))
		return;
	cpumask_set(&p->taken, cpu);
	p->order->cpus[p->order->count++] = cpu;
}

static void pick_all(struct picker *p, bool local, bool second)
{
	CPUMASK_EACH(cpu, p->usable)
		if (is_local(p, cpu) == local && is_second(p, cpu) == second)
			pick(p, cpu);
}

/* Cores one after the other, each with all its threads. */
static void pick_cores(struct picker *p, bool local)
{
	CPUMASK_EACH(cpu, p->usable) {
		if (is_local(p, cpu) != local || is_second(p, cpu))
			continue;
		pick(p, cpu);
		CPUMASK_EACH(other, p->usable)
			if (irqbind.topo.places[cpu].core != NA_U64 &&
			    irqbind.topo.places[other].core == irqbind.topo.places[cpu].core)
				pick(p, other);
	}
}

void policy_order(struct arena *a, enum policy policy, const struct cpumask *usable, uint64_t node,
		  struct policy_order *order)
{
	struct picker p = { .usable = usable, .node = node, .order = order };
	struct cpumask near;

	*order = (struct policy_order){ 0 };
	order->cpus = arena_alloc(a, (irqbind.topo.limit + 1) * sizeof(*order->cpus));
	cputopo_node_cpus(&irqbind.topo, node, &near);
	/* all of its node are kept from us: then there is no near and far */
	if (!cpumask_meets(&near, usable))
		p.node = NA_U64;
	if (policy == POLICY_COMPACT) {
		pick_cores(&p, true);
		pick_cores(&p, false);
		order->worth = order->count;
		return;
	}
	pick_all(&p, true, false);
	order->worth = order->count;
	if (policy != POLICY_NODE)
		pick_all(&p, false, false);
	pick_all(&p, true, true);
	if (policy != POLICY_NODE)
		pick_all(&p, false, true);
}
