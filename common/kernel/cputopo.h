/*
 * Where the CPUs are: nodes, cores, caches, and which are kept free of ordinary work
 * (Documentation/admin-guide/cputopology.rst, Documentation/ABI/stable/sysfs-devices-node).
 */
#ifndef KERNEL_CPUTOPO_H
#define KERNEL_CPUTOPO_H

#include <stdint.h>

#include "common/base/mem.h"
#include "common/base/na.h"
#include "common/kernel/cpumask.h"

struct cpu_place {
	uint64_t node;                 /* NA_U64: the host has no NUMA nodes, or says nothing */
	uint64_t core;                 /* the lowest CPU of its core; NA_U64 unknown */
	uint64_t cache;                /* the lowest CPU that shares its last cache; NA_U64 */
	uint64_t package;
	bool is_second;                /* not the first hyperthread of its core */
};

struct cputopo {
	unsigned limit;                /* CPUs there can be: their numbers are below */
	struct cpumask online, isolated, nohz_full;
	struct cpu_place *places;      /* limit of them */
	unsigned nodes;                /* highest node + 1; 0: none */
};

/* All in arena. Offline CPUs' places are unknown. 0 or -errno with fail text: no list of CPUs. */
int cputopo_read(struct arena *arena, struct cputopo *t);

/* Empty if there is no such node. */
void cputopo_node_cpus(const struct cputopo *t, uint64_t node, struct cpumask *m);

#endif
