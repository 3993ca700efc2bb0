/*
 * From a policy to steps: rings, then interrupts, then RPS, RFS and XPS, then the settings asked
 * for. Only what differs becomes a step, so that what was applied plans to nothing.
 */
#include <errno.h>
#include <string.h>

#include "applets/irqbind/irqbind.h"
#include "common/base/scan.h"
#include "common/kernel/setting.h"
#include "common/kernel/source.h"

#define FLOW_ENTRIES 32768             /* of all queues, as Documentation/networking/scaling.rst */
#define MAP_MAX 8192u

struct plan_options plan_options;

static struct {
	uint64_t single;               /* the CPU of "single" */
	uint32_t map[MAP_MAX];         /* queue -> CPU + 1 */
} asked;

struct planner {
	struct out *out;
	struct arena *a;
	struct plan *plan;
	enum policy policy;
	struct cpumask usable;
	unsigned *load;                /* queues given to each CPU so far */
};

/* ---- what was asked ---- */

static int parse_map(const char *text)
{
	struct scan s = scan_of(text_of(text));
	uint64_t queue, cpu;

	for (;;) {
		if (!scan_u64(&s, &queue) || !scan_literal(&s, "=") || !scan_u64(&s, &cpu) ||
		    queue >= MAP_MAX || cpu >= CPU_MAX)
			return fail(EINVAL, "--map: '%s' is not QUEUE=CPU,QUEUE=CPU", text);
		asked.map[queue] = (uint32_t)cpu + 1;
		if (s.at == s.end)
			return 0;
		if (!scan_literal(&s, ","))
			return fail(EINVAL, "--map: '%s' is not QUEUE=CPU,QUEUE=CPU", text);
	}
}

static int check_list(const char *option, const char *text)
{
	struct cpumask m;

	if (text && (cpumask_parse_list(text_of(text), &m) < 0 || cpumask_is_empty(&m)))
		return fail(EINVAL, "%s: '%s' is not a list of CPUs", option, text);
	return 0;
}

/* "net.core.rmem_max" or "net/core/rmem_max": the file. */
static const char *sysctl_path(struct arena *a, struct text name)
{
	char *path = arena_printf(a, "proc/sys/%.*s", (int)name.len, name.data);

	for (char *c = path; !memchr(name.data, '/', name.len) && *c; c++)
		if (*c == '.')
			*c = '/';
	return path;
}

static bool split_sysctl(const char *text, struct text *name, const char **value)
{
	struct scan s = scan_of(text_of(text));

	if (!scan_until(&s, '=', name) || s.at == s.end)
		return false;
	*value = s.at;
	return true;
}

static int check_sysctls(void)
{
	for (size_t i = 0; i < plan_options.sysctls.count; i++) {
		const char *text = plan_options.sysctls.items[i], *value;
		struct text name;

		if (!split_sysctl(text, &name, &value))
			return fail(EINVAL, "--sysctl: '%s' is not NAME=VALUE", text);
		const char *path = sysctl_path(&irqbind.run, name);

		if (setting_kind_of(path) != SETTING_TEXT ||
		    !setting_is_valid(SETTING_TEXT, value))
			return fail(EINVAL, "--sysctl: '%s' is no setting of net", text);
	}
	return 0;
}

static void take_names(int argc, char **argv)
{
	irqbind.names = arena_alloc(&irqbind.run, ((size_t)argc + 1) * sizeof(*irqbind.names));
	for (int i = 0; i < argc; i++)
		irqbind.names[irqbind.name_count++] = argv[i];
}

int plan_check(int argc, char **argv, enum policy *policy)
{
	int taken = 1;
	uint64_t n;
	int err = 0;

	memset(&asked, 0, sizeof(asked));
	if (argc < 1 || !policy_parse(argv[0], policy))
		return fail(EINVAL, "the policy is spread, node, single CPU, compact or map%s%s%s",
			    argc ? ", not '" : "", argc ? argv[0] : "", argc ? "'" : "");
	if (*policy == POLICY_SINGLE) {
		if (argc < 2 || !scan_all_u64(text_of(argv[1]), &asked.single) ||
		    asked.single >= CPU_MAX)
			return fail(EINVAL, "single needs a CPU: single 3");
		taken = 2;
	}
	if (plan_options.map)
		err = parse_map(plan_options.map);
	else if (*policy == POLICY_MAP)
		return fail(EINVAL, "map needs --map QUEUE=CPU,QUEUE=CPU");
	if (err >= 0)
		err = check_list("--cpus", plan_options.cpus);
	if (err >= 0)
		err = check_list("--exclude", plan_options.exclude);
	if (err >= 0 && plan_options.ring && strcmp(plan_options.ring, "max") != 0 &&
	    (!scan_all_u64(text_of(plan_options.ring), &n) || !n || n > UINT32_MAX))
		err = fail(EINVAL, "--ring: '%s' is neither a number nor max", plan_options.ring);
	if (err >= 0)
		err = check_sysctls();
	if (err >= 0)
		take_names(argc - taken, argv + taken);
	return err;
}

/* ---- steps ---- */

static void add_step(struct planner *p, const char *path, const char *old, const char *new,
		     const char *subject, const char *why)
{
	const struct plan_step step = { path, old, new, subject, why };

	/* what several interfaces need is one step */
	for (size_t i = 0; i < p->plan->count; i++)
		if (!strcmp(p->plan->steps[i].path, path))
			return;
	if (!setting_is_same(setting_kind_of(path), old, new))
		plan_add(p->a, p->plan, &step);
}

/* Without its newline; NULL with fail text. */
static const char *read_value(struct planner *p, const char *path)
{
	struct text t;

	if (src_read(path, &t) < 0)
		return NULL;
	while (t.len && strchr(" \t\n", t.data[t.len - 1]))
		t.len--;
	return arena_text(p->a, t);
}

/* ---- rings ---- */

static void plan_ring(struct planner *p, const struct nic *n, const char *which, uint64_t now,
		      uint64_t max)
{
	uint64_t want = max;

	if (max == NA_U64 || now == NA_U64) {
		out_note(p->out, "%s: its driver has no %s ring that can be set", n->name, which);
		return;
	}
	if (strcmp(plan_options.ring, "max") != 0)
		scan_all_u64(text_of(plan_options.ring), &want);
	if (want > max) {
		out_note(p->out, "%s: %s ring: %llu is more than its driver takes; %llu instead",
			 n->name, which, (unsigned long long)want, (unsigned long long)max);
		want = max;
	}
	add_step(p, arena_printf(p->a, "ring/%s/%s", n->name, which),
		 arena_printf(p->a, "%llu", (unsigned long long)now),
		 arena_printf(p->a, "%llu", (unsigned long long)want),
		 arena_printf(p->a, "%s %s ring", n->name, which),
		 "as asked; may reset the link");
}

static void plan_rings(struct planner *p, const struct nic *n)
{
	struct nic_rings r;

	if (!plan_options.ring)
		return;
	if (ethtool_read_rings(n->name, &r) < 0) {
		out_note(p->out, "%s: no ring can be set: %s", n->name, fail_text());
		return;
	}
	plan_ring(p, n, "rx", r.rx, r.rx_max);
	plan_ring(p, n, "tx", r.tx, r.tx_max);
}

/* ---- interrupts ---- */

/* The first of the order that has the fewest queues so far. */
static unsigned next_cpu(struct planner *p, const struct policy_order *order)
{
	unsigned best = order->cpus[0];

	for (size_t i = 1; i < order->count; i++)
		if (p->load[order->cpus[i]] < p->load[best])
			best = order->cpus[i];
	p->load[best]++;
	return best;
}

static const char *why_cpu(struct planner *p, const struct nic *n, uint64_t queue, unsigned cpu)
{
	const struct cpu_place *place = &irqbind.topo.places[cpu];
	const char *where = "";

	if (n->node != NA_U64 && place->node == n->node)
		where = arena_printf(p->a, ", on its node %llu", (unsigned long long)n->node);
	else if (n->node != NA_U64)
		where = arena_printf(p->a, ", off its node %llu",
				     (unsigned long long)n->node);
	return arena_printf(p->a, "queue %llu to CPU %u%s%s", (unsigned long long)queue, cpu, where,
			    place->is_second ? ", hyperthread" : "");
}

/* The CPU of each queue of a device: by its number, as both halves of a pair go together. */
struct placement {
	uint32_t *cpus;                /* queue -> CPU + 1; 0: not placed */
	size_t count;
};

static void place_queue(struct planner *p, const struct policy_order *order, struct placement *to,
			uint64_t queue)
{
	if (queue >= to->count || to->cpus[queue])
		return;
	if (queue < MAP_MAX && asked.map[queue])
		to->cpus[queue] = asked.map[queue];
	else if (p->policy == POLICY_SINGLE)
		to->cpus[queue] = (uint32_t)asked.single + 1;
	else if (p->policy != POLICY_MAP)
		to->cpus[queue] = next_cpu(p, order) + 1;
}

static void place_all(struct planner *p, const struct nic *n, const struct policy_order *order,
		      struct placement *to)
{
	uint64_t top = 0;

	for (size_t i = 0; i < n->irq_count; i++)
		if (n->irqs[i].role.use != IRQ_OTHER && n->irqs[i].role.queue < MAP_MAX &&
		    n->irqs[i].role.queue >= top)
			top = n->irqs[i].role.queue + 1;
	to->count = top;
	to->cpus = arena_alloc(p->a, (top + 1) * sizeof(*to->cpus));
	for (uint64_t queue = 0; queue < top; queue++)
		for (size_t i = 0; i < n->irq_count; i++)
			if (n->irqs[i].role.use != IRQ_OTHER && n->irqs[i].role.queue == queue &&
			    n->irqs[i].irq.managed != IRQ_MANAGED)
				place_queue(p, order, to, queue);
}

static uint64_t queue_cpu(const struct placement *where, uint64_t queue)
{
	return queue < where->count && where->cpus[queue] ? where->cpus[queue] - 1 : NA_U64;
}

static void plan_irqs(struct planner *p, const struct nic *n, const struct placement *where)
{
	for (size_t i = 0; i < n->irq_count; i++) {
		const struct nic_irq *q = &n->irqs[i];
		const uint64_t cpu = queue_cpu(where, q->role.queue);

		if (q->role.use == IRQ_OTHER || !q->is_known)
			continue;
		if (q->irq.managed == IRQ_MANAGED)
			out_note(p->out, "%s: IRQ %u (%s) is managed: the kernel alone places it",
				 n->name, q->irq.number, q->name);
		if (q->irq.managed == IRQ_MANAGED || cpu == NA_U64)
			continue;
		add_step(p, arena_printf(p->a, "proc/irq/%u/smp_affinity_list", q->irq.number),
			 cpumask_list_text(p->a, &q->irq.asked),
			 arena_printf(p->a, "%llu", (unsigned long long)cpu),
			 arena_printf(p->a, "%s %s", n->name, q->name),
			 why_cpu(p, n, q->role.queue, (unsigned)cpu));
	}
}

/* ---- RPS, RFS ---- */

static const char *queue_file(struct planner *p, const struct nic *n, const char *kind, unsigned q,
			      const char *file)
{
	return arena_printf(p->a, "sys/class/net/%s/queues/%s-%u/%s", n->name, kind, q, file);
}

static uint64_t round_up(uint64_t n)
{
	uint64_t power = 1;

	while (power < n)
		power *= 2;
	return power;
}

static void plan_flows(struct planner *p, const struct nic *n)
{
	const char *path = "proc/sys/net/core/rps_sock_flow_entries";
	const char *now = read_value(p, path);

	if (!now) {
		out_note(p->out, "RFS: %s", fail_text());
		return;
	}
	if (!strcmp(now, "0"))
		add_step(p, path, now, arena_printf(p->a, "%u", FLOW_ENTRIES), "RFS",
			 "RFS: flows the host remembers");
	for (unsigned q = 0; q < n->rx_queues; q++) {
		path = queue_file(p, n, "rx", q, "rps_flow_cnt");
		now = read_value(p, path);
		if (now && !strcmp(now, "0"))
			add_step(p, path, now,
				 arena_printf(p->a, "%llu", (unsigned long long)round_up(
					 FLOW_ENTRIES / n->rx_queues)),
				 arena_printf(p->a, "%s rx-%u", n->name, q),
				 "RFS: the queue's share of them");
	}
}

static void plan_rps(struct planner *p, const struct nic *n, const struct policy_order *order,
		     const struct placement *where)
{
	struct cpumask targets = { { 0 } }, irqs = { { 0 } };
	bool is_planned = false;

	if (n->rx_queues >= order->worth || !n->rx_queues)
		return;
	for (size_t i = 0; i < order->worth; i++)
		cpumask_set(&targets, order->cpus[i]);
	for (uint64_t q = 0; q < where->count; q++)
		if (where->cpus[q])
			cpumask_set(&irqs, where->cpus[q] - 1);
	/* those that take the interrupts have their share already */
	if (!cpumask_is_inside(&targets, &irqs))
		cpumask_remove(&targets, &irqs);
	for (unsigned q = 0; q < n->rx_queues; q++) {
		const char *path = queue_file(p, n, "rx", q, "rps_cpus");
		const char *now = read_value(p, path);

		if (!now) {
			out_note(p->out, "RPS: %s", fail_text());
			continue;
		}
		is_planned = true;
		add_step(p, path, now, cpumask_hex_text(p->a, &targets, irqbind.topo.limit),
			 arena_printf(p->a, "%s rx-%u", n->name, q),
			 arena_printf(p->a, "RPS: %u queue%s, %zu CPUs: on to CPU %s",
				      n->rx_queues, n->rx_queues > 1 ? "s" : "", order->worth,
				      cpumask_list_text(p->a, &targets)));
	}
	if (is_planned)
		plan_flows(p, n);
}

/* ---- XPS ---- */

/* Each CPU sends on one queue: the one whose interrupt it has, else its core has, else in turn. */
static unsigned tx_queue_of(const struct nic *n, const struct placement *where, unsigned cpu,
			    unsigned *turn)
{
	const uint64_t core = irqbind.topo.places[cpu].core;

	for (unsigned q = 0; q < n->tx_queues; q++)
		if (queue_cpu(where, q) == cpu)
			return q;
	for (unsigned q = 0; q < n->tx_queues; q++) {
		const uint64_t other = queue_cpu(where, q);

		if (core != NA_U64 && other < irqbind.topo.limit &&
		    irqbind.topo.places[other].core == core)
			return q;
	}
	return (*turn)++ % n->tx_queues;
}

static void plan_xps(struct planner *p, const struct nic *n, const struct placement *where)
{
	unsigned turn = 0;

	if (n->tx_queues < 2)
		return;
	struct cpumask *masks = arena_alloc(p->a, n->tx_queues * sizeof(*masks));

	CPUMASK_EACH(cpu, &irqbind.topo.online)
		cpumask_set(&masks[tx_queue_of(n, where, cpu, &turn)], cpu);
	for (unsigned q = 0; q < n->tx_queues; q++) {
		const char *path = queue_file(p, n, "tx", q, "xps_cpus");
		const char *now = read_value(p, path);

		if (!now) {
			out_note(p->out, "XPS: %s", fail_text());
			continue;
		}
		add_step(p, path, now, cpumask_hex_text(p->a, &masks[q], irqbind.topo.limit),
			 arena_printf(p->a, "%s tx-%u", n->name, q),
			 arena_printf(p->a, "XPS: CPU %s sends on it",
				      cpumask_is_empty(&masks[q]) ? "-"
				      : cpumask_list_text(p->a, &masks[q])));
	}
}

/* ---- all of it ---- */

static void plan_sysctls(struct planner *p)
{
	for (size_t i = 0; i < plan_options.sysctls.count; i++) {
		const char *value;
		struct text name;

		if (!split_sysctl(plan_options.sysctls.items[i], &name, &value))
			continue;
		const char *path = sysctl_path(p->a, name);
		const char *now = read_value(p, path);

		if (now)
			add_step(p, path, now, value,
				 arena_printf(p->a, "%.*s", (int)name.len, name.data), "as asked");
		else
			out_missing(p->out, "%s", fail_text());
	}
}

static int choose_cpus(struct planner *p)
{
	struct cpumask m;

	p->usable = irqbind.topo.online;
	if (plan_options.cpus) {
		cpumask_parse_list(text_of(plan_options.cpus), &m);
		cpumask_and(&p->usable, &m);
	} else {
		cpumask_remove(&p->usable, &irqbind.topo.isolated);
		cpumask_remove(&p->usable, &irqbind.topo.nohz_full);
	}
	if (plan_options.exclude) {
		cpumask_parse_list(text_of(plan_options.exclude), &m);
		cpumask_remove(&p->usable, &m);
	}
	if (cpumask_is_empty(&p->usable))
		return fail(EINVAL, "no CPU is left: online are %s, isolated %s",
			    cpumask_list_text(p->a, &irqbind.topo.online),
			    cpumask_is_empty(&irqbind.topo.isolated) ? "none"
			    : cpumask_list_text(p->a, &irqbind.topo.isolated));
	if (p->policy == POLICY_SINGLE &&
	    !cpumask_has(&irqbind.topo.online, (unsigned)asked.single))
		return fail(EINVAL, "CPU %llu is not online", (unsigned long long)asked.single);
	for (unsigned q = 0; q < MAP_MAX; q++)
		if (asked.map[q] && !cpumask_has(&irqbind.topo.online, asked.map[q] - 1))
			return fail(EINVAL, "--map: CPU %u is not online", asked.map[q] - 1);
	return 0;
}

struct nic_plan {
	struct policy_order order;
	struct placement where;
};

int plan_make(struct out *out, struct arena *a, enum policy policy, struct plan *plan)
{
	struct planner p = { .out = out, .a = a, .plan = plan, .policy = policy };
	const struct look *l = look_now();
	int err = choose_cpus(&p);

	if (err < 0)
		return err;
	*plan = (struct plan){ 0 };
	p.load = arena_alloc(a, irqbind.topo.limit * sizeof(*p.load));
	struct nic_plan *nics = arena_alloc(a, (l->nic_count + 1) * sizeof(*nics));

	for (size_t i = 0; i < l->nic_count; i++)
		plan_rings(&p, &l->nics[i]);
	for (size_t i = 0; i < l->nic_count; i++) {
		const struct nic *n = &l->nics[i];

		policy_order(a, policy, &p.usable, n->node, &nics[i].order);
		place_all(&p, n, &nics[i].order, &nics[i].where);
		if (n->device && !n->irq_count)
			out_note(out, "%s: none of its interrupts was found", n->name);
		plan_irqs(&p, n, &nics[i].where);
	}
	for (size_t i = 0; i < l->nic_count; i++) {
		if (policy == POLICY_SINGLE || policy == POLICY_MAP)
			continue;
		plan_rps(&p, &l->nics[i], &nics[i].order, &nics[i].where);
		plan_xps(&p, &l->nics[i], &nics[i].where);
	}
	plan_sysctls(&p);
	if (!l->nic_count && !plan_options.sysctls.count)
		out_note(out, "no interface with hardware behind it: name one");
	return 0;
}
