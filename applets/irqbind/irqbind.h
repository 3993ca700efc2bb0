/* Inside irqbind: the host as it is seen, what is planned for it, and what is done to it. */
#ifndef APPLETS_IRQBIND_IRQBIND_H
#define APPLETS_IRQBIND_IRQBIND_H

#include <stdbool.h>
#include <stdint.h>

#include "applets/applet.h"
#include "common/base/hash.h"
#include "common/kernel/cpustat.h"
#include "common/kernel/cputopo.h"
#include "common/kernel/ethtool.h"
#include "common/kernel/ethtool_queues.h"
#include "common/kernel/irq.h"
#include "common/kernel/irqbalance.h"
#include "common/kernel/journal.h"
#include "common/kernel/plan.h"

#define IRQS_MAX (1u << 20)            /* numbers beyond are no interrupt lines */

/* ---- what is seen (look.c, nics.c) ---- */

struct nic_irq {
	struct irq irq;
	bool is_known;                 /* irq could be read */
	const char *name;
	struct irq_name role;
};

struct nic {
	const char *name;
	const char *device;            /* sys/devices/...; NULL: virtual */
	const char *bond;              /* it was asked for through; NULL */
	const char *driver, *firmware; /* NULL unknown */
	uint64_t node;                 /* NA_U64: none, or not told */
	bool is_up;
	struct nic_irq *irqs;          /* by number */
	size_t irq_count;
	unsigned rx_queues, tx_queues;
	/* since it began; lost: no room in the ring (missed, fifo), which is loss for sure */
	uint64_t rx_packets, rx_lost;
};

struct cpu_look {
	bool has_softnet;
	uint32_t processed, dropped, squeezed;
	uint64_t steered, backlog;
	uint64_t net_rx, net_tx;       /* softirqs raised, modulo 2^32; NA_U64 */
};

struct look {
	struct arena arena;
	struct cpu_stat stat;
	struct cpu_look *cpus;         /* topo.limit of them */
	struct nic *nics;
	size_t nic_count;
	struct hash counts;            /* interrupt number -> struct irq_counts * */
	struct hash all_names;         /* of every interrupt line: number -> name */
	uint64_t retransmitted, sent;  /* TCP segments of the namespace */
};

struct irq_counts {
	uint32_t number;
	const char *name;
	uint32_t *cpus;                /* topo.limit of them, modulo 2^32 */
};

struct irqbind {
	struct look looks[2];
	unsigned look_count;           /* looks taken, the present one included */
	struct arena run;              /* topology, operands */
	struct cputopo topo;
	bool has_topo;
	uint64_t interval_ns;
	const uint32_t *wanted;        /* interrupts to count besides those of interfaces */
	size_t wanted_count;
	const char **names;            /* interfaces asked for; none: those with hardware */
	size_t name_count;
};
extern struct irqbind irqbind;

/* The present look and the one before (NULL: there is none). */
struct look *look_now(void);
struct look *look_before(void);

/*
 * Takes a look: 0, or -errno with fail text (the CPUs can't be told). What is missing is said.
 * has_traffic: what moves as well (counters); a plan needs none.
 */
int look_take(struct out *out, bool has_traffic);
void look_free_all(void);

/* nics.c: the interfaces of the look with their interrupts. names: of all lines (all_names). */
int nics_read(struct out *out, struct look *l);
const struct nic *nic_find(const struct look *l, const char *name);
/* CPUs its queues' interrupts are to go to. */
void nic_irq_cpus(const struct nic *n, struct cpumask *m);
/* "rx-0", "tx-0", "0" for both ways, "-" for what is no queue's. */
const char *irq_role_text(struct arena *a, const struct irq_name *role);

/* Over the interval; NA where unknown. */
uint64_t irq_delta(uint32_t number, unsigned cpu);
/* All CPUs; *busiest (may be NULL): where most came in, CPUMASK_END if none. */
uint64_t irq_delta_all(uint32_t number, unsigned *busiest);
double cpu_processed_rate(unsigned cpu);
double cpu_squeeze_rate(unsigned cpu);
uint64_t cpu_dropped(unsigned cpu);
void cpu_shares_of(unsigned cpu, struct cpu_shares *s);
double nic_packet_rate(const struct nic *n);
uint64_t nic_lost(const struct nic *n);

/* ---- show (rows.c, heat.c, findings.c) ---- */

extern const struct table *const irqbind_show_tables[];
extern const struct table irqbind_heat_table;
extern const struct table *const irqbind_plan_tables[];
extern const struct table *const irqbind_verify_tables[];
extern const struct finding_kind irqbind_findings[];
void show_rows(struct out *out);
void show_heat(struct out *out);
void report_findings(struct out *out);
struct finding *irqbind_finding(struct out *out, const char *id, enum finding_state state,
				const char *subject);

/* ---- planning (policy.c, plan.c) ---- */

enum policy { POLICY_SPREAD, POLICY_NODE, POLICY_SINGLE, POLICY_COMPACT, POLICY_MAP };

struct plan_options {
	const char *cpus, *exclude, *map, *ring;
	struct opt_texts sysctls;
};
extern struct plan_options plan_options;

/* "spread" ... false: none of them. */
bool policy_parse(const char *word, enum policy *p);
/* The CPUs to use for that device, best first, into order (topo.limit); how many. */
struct policy_order {
	unsigned *cpus;
	size_t count;
	size_t worth;                  /* the first of them are what RPS may use: near cores */
};
void policy_order(struct arena *a, enum policy p, const struct cpumask *usable, uint64_t node,
		  struct policy_order *order);

/* Checks the options; words behind the policy are its operands. -EINVAL with fail text. */
int plan_check(int argc, char **argv, enum policy *policy);
/* The present look's. In arena. 0 or -errno with fail text. What is left out is said. */
int plan_make(struct out *out, struct arena *a, enum policy policy, struct plan *p);
void plan_show(struct out *out, const struct plan *p);

/* ---- doing it (apply.c, rollback.c, verify.c, guard.c, inforce.c) ---- */

struct apply_options {
	const char *journal;
	bool is_forced, is_all_or_nothing;
	uint64_t guard_ns;             /* NA_U64: no guard */
};
extern struct apply_options apply_options;

int apply_start(int argc, char **argv);
int apply_run(struct out *out);
int rollback_start(int argc, char **argv);
int rollback_run(struct out *out);
int verify_start(int argc, char **argv);
int verify_look(struct out *out);

/* Boot and host as a journal names them; "-" where unknown. */
const char *host_boot_id(void);
const char *host_name(void);
/* Is that journal of this boot of this host? 0, or -EXDEV with fail text. */
int journal_check_host(const struct journal *j);
/* Puts back all that the journal holds, in reverse. How many could not be; what is odd is said. */
size_t journal_undo(struct out *out, struct journal_file *f, const struct journal *j,
		    struct arena *a);

/* The guard: before is over an interval that ended with the present look. */
struct guard_rates {
	double drops_per_second, softirq_ratio, retransmit_ratio;
	unsigned cpu;                  /* whose softirq_ratio it is, the highest */
};
void guard_measure(struct guard_rates *r);
/* Is it worse by the margins? why: in words, of arena; NULL if not. */
const char *guard_compare(struct arena *a, const struct guard_rates *before,
			  const struct guard_rates *after);
/* Waits and takes looks. 1: worse, or interrupted: roll back; 0: fine; -errno. */
int guard_watch(struct out *out, const struct guard_rates *before, const char **why);
/* Sleeps, then the next frame and a look. 1: interrupted. */
int guard_next_look(struct out *out, uint64_t ns);

/* --journal with show: what was changed since. Also verify's. */
void report_journal(struct out *out);

#endif
