#include "common/kernel/cputopo.h"

#include <errno.h>

#include "common/base/scan.h"
#include "common/kernel/source.h"

#define CPU "sys/devices/system/cpu/"
#define NODES_MAX 1024                 /* MAX_NUMNODES of the largest configurations */

static int read_list(const char *path, struct cpumask *m)
{
	struct text t;
	int err = src_read(path, &t);

	if (err < 0)
		return err;
	/* "(null)" where a kernel has the file and was not told of such CPUs */
	if (text_starts(t, "(null)"))
		t.len = 0;
	return cpumask_parse_list(t, m) < 0 ? fail(EINVAL, "/%s: not a list of CPUs", path) : 0;
}

/* The lowest CPU of a list; NA_U64. */
static uint64_t first_of(const char *path)
{
	struct cpumask m;

	if (read_list(path, &m) < 0 || cpumask_is_empty(&m))
		return NA_U64;
	return cpumask_next(&m, 0);
}

static uint64_t number_of(const char *path)
{
	struct text t;
	uint64_t n;

	if (src_read(path, &t) < 0)
		return NA_U64;
	struct scan s = scan_of(t);

	return scan_u64(&s, &n) ? n : NA_U64;
}

static void read_place(struct arena *a, unsigned cpu, struct cpu_place *p)
{
	const char *folder = arena_printf(a, CPU "cpu%u", cpu);

	p->core = first_of(arena_printf(a, "%s/topology/thread_siblings_list", folder));
	p->package = number_of(arena_printf(a, "%s/topology/physical_package_id", folder));
	p->is_second = p->core != NA_U64 && p->core != cpu;
	for (unsigned level = 3; level >= 2 && p->cache == NA_U64; level--)
		p->cache = first_of(arena_printf(a, "%s/cache/index%u/shared_cpu_list", folder,
						 level));
}

static void read_nodes(struct arena *a, struct cputopo *t)
{
	struct cpumask nodes, cpus;    /* node numbers are written like CPUs */

	if (read_list("sys/devices/system/node/online", &nodes) < 0)
		return;
	CPUMASK_EACH(node, &nodes) {
		const char *path = arena_printf(a, "sys/devices/system/node/node%u/cpulist", node);

		if (node >= NODES_MAX || read_list(path, &cpus) < 0)
			continue;
		t->nodes = node + 1;
		CPUMASK_EACH(cpu, &cpus)
			if (cpu < t->limit)
				t->places[cpu].node = node;
	}
}

int cputopo_read(struct arena *arena, struct cputopo *t)
{
	struct cputopo new = { 0 };
	struct cpumask possible;
	int err = read_list(CPU "online", &new.online);

	if (err < 0)
		return err;
	if (cpumask_is_empty(&new.online))
		return fail(EINVAL, "/" CPU "online: no CPU");
	if (read_list(CPU "possible", &possible) < 0)
		possible = new.online;
	cpumask_or(&possible, &new.online);
	CPUMASK_EACH(cpu, &possible)
		new.limit = cpu + 1;
	if (read_list(CPU "isolated", &new.isolated) < 0)
		new.isolated = (struct cpumask){ { 0 } };
	if (read_list(CPU "nohz_full", &new.nohz_full) < 0)
		new.nohz_full = (struct cpumask){ { 0 } };
	new.places = arena_alloc(arena, new.limit * sizeof(*new.places));
	for (unsigned cpu = 0; cpu < new.limit; cpu++) {
		new.places[cpu] = (struct cpu_place){ NA_U64, NA_U64, NA_U64, NA_U64, false };
		if (cpumask_has(&new.online, cpu))
			read_place(arena, cpu, &new.places[cpu]);
	}
	read_nodes(arena, &new);
	*t = new;
	return 0;
}

void cputopo_node_cpus(const struct cputopo *t, uint64_t node, struct cpumask *m)
{
	*m = (struct cpumask){ { 0 } };
	for (unsigned cpu = 0; cpu < t->limit && node != NA_U64; cpu++)
		if (t->places[cpu].node == node)
			cpumask_set(m, cpu);
}
