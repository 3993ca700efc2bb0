/*
 * Sets of CPUs, and the two ways the kernel writes them: lists ("0-3,8") and masks, comma-separated
 * groups of 8 hexadecimal digits, the highest CPUs first: "00000008,00000000" is CPU 35
 * (lib/bitmap-str.c, Documentation/admin-guide/cputopology.rst).
 */
#ifndef KERNEL_CPUMASK_H
#define KERNEL_CPUMASK_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/base/text.h"
#include "common/kernel/cpustat.h"

#define CPUMASK_WORDS (CPU_MAX / 64)
#define CPUMASK_END CPU_MAX            /* cpumask_next: there is none */

struct cpumask {                       /* zeroed is empty */
	uint64_t words[CPUMASK_WORDS];
};

static inline bool cpumask_has(const struct cpumask *m, unsigned cpu)
{
	return cpu < CPU_MAX && m->words[cpu / 64] >> cpu % 64 & 1;
}

static inline void cpumask_set(struct cpumask *m, unsigned cpu)
{
	if (cpu < CPU_MAX)
		m->words[cpu / 64] |= 1ull << cpu % 64;
}

void cpumask_and(struct cpumask *m, const struct cpumask *with);
void cpumask_or(struct cpumask *m, const struct cpumask *with);
void cpumask_remove(struct cpumask *m, const struct cpumask *what);
bool cpumask_is_empty(const struct cpumask *m);
bool cpumask_equals(const struct cpumask *a, const struct cpumask *b);
bool cpumask_meets(const struct cpumask *a, const struct cpumask *b);
bool cpumask_is_inside(const struct cpumask *m, const struct cpumask *of);
unsigned cpumask_count(const struct cpumask *m);
/* The first one that is `from` or above; CPUMASK_END. */
unsigned cpumask_next(const struct cpumask *m, unsigned from);

#define CPUMASK_EACH(cpu, m) for (unsigned cpu = cpumask_next(m, 0); cpu < CPUMASK_END; \
				  cpu = cpumask_next(m, cpu + 1))

/* Blanks and a newline behind are passed over. -EINVAL without fail text: no such thing, or a CPU
 * from CPU_MAX on. An empty list is an empty set; an empty mask is none. */
int cpumask_parse_list(struct text t, struct cpumask *m);
int cpumask_parse_hex(struct text t, struct cpumask *m);

void cpumask_add_list(struct buf *to, const struct cpumask *m);
/* As wide as the kernel of a host writes it that can have `cpus` CPUs (0: as short as can be). */
void cpumask_add_hex(struct buf *to, const struct cpumask *m, unsigned cpus);

struct arena;
const char *cpumask_list_text(struct arena *a, const struct cpumask *m);
const char *cpumask_hex_text(struct arena *a, const struct cpumask *m, unsigned cpus);

#endif
