/* The stop-loss: is it worse than before, and by how much more than noise? */
#include <errno.h>
#include <time.h>

#include "applets/irqbind/irqbind.h"
#include "common/kernel/source.h"

/* The margins, which the man page and every message state. */
#define DROPS_FACTOR 2.0
#define DROPS_MORE 10.0                /* per second */
#define SOFTIRQ_MORE 0.20
#define RETRANSMIT_MORE 0.01
#define SENT_MIN 1000                  /* segments: below it a share of them says nothing */
#define SLICE_NS 100000000ull

void guard_measure(struct guard_rates *r)
{
	const struct look *now = look_now(), *before = look_before();
	uint64_t drops = 0;

	*r = (struct guard_rates){ NA_F64, 0, NA_F64, CPUMASK_END };
	if (!before)
		return;
	CPUMASK_EACH(cpu, &irqbind.topo.online) {
		const uint64_t dropped = cpu_dropped(cpu);
		struct cpu_shares s;

		drops += dropped == NA_U64 ? 0 : dropped;
		cpu_shares_of(cpu, &s);
		if (s.softirq > r->softirq_ratio)
			r->softirq_ratio = s.softirq, r->cpu = cpu;
	}
	for (size_t i = 0; i < now->nic_count; i++) {
		const uint64_t lost = nic_lost(&now->nics[i]);

		drops += lost == NA_U64 ? 0 : lost;
	}
	r->drops_per_second = rate_of(drops, irqbind.interval_ns);
	const uint64_t sent = delta_u64(now->sent, before->sent);

	if (sent != NA_U64 && sent >= SENT_MIN)
		r->retransmit_ratio =
			ratio_of(delta_u64(now->retransmitted, before->retransmitted), sent);
}

const char *guard_compare(struct arena *a, const struct guard_rates *before,
			  const struct guard_rates *after)
{
	if (after->drops_per_second >= DROPS_FACTOR * before->drops_per_second &&
	    after->drops_per_second >= before->drops_per_second + DROPS_MORE)
		return arena_printf(a, "drops went from %s to %s (margin: twice, and 10/s)",
				    human_rate(a, before->drops_per_second),
				    human_rate(a, after->drops_per_second));
	if (after->softirq_ratio >= before->softirq_ratio + SOFTIRQ_MORE)
		return arena_printf(a, "the busiest CPU's softirq time went from %s to %s (CPU %u; "
				       "margin: 20 points)",
				    human_ratio(a, before->softirq_ratio),
				    human_ratio(a, after->softirq_ratio), after->cpu);
	if (after->retransmit_ratio >= before->retransmit_ratio + RETRANSMIT_MORE)
		return arena_printf(a, "retransmitted segments went from %s to %s (margin: 1 "
				       "point)", human_ratio(a, before->retransmit_ratio),
				    human_ratio(a, after->retransmit_ratio));
	return NULL;
}

/* Replaying, time passes by itself. True: interrupted. */
static bool sleep_for(uint64_t ns)
{
	const uint64_t end = src_now_ns() + ns;

	while (src_is_live() && !run_is_interrupted()) {
		const uint64_t now = src_now_ns();
		const uint64_t left = now < end ? end - now : 0;
		const uint64_t slice = left < SLICE_NS ? left : SLICE_NS;
		const struct timespec t = { 0, (long)slice };

		if (!left)
			break;
		nanosleep(&t, NULL);
	}
	return run_is_interrupted();
}

int guard_next_look(struct out *out, uint64_t ns)
{
	if (sleep_for(ns))
		return 1;
	int err = src_frame_end();

	if (err >= 0)
		err = src_frame_begin();
	if (err == 0)
		return fail(ENODATA, "the saved run has no frame left to guard with");
	if (err < 0)
		return err;
	irqbind.interval_ns = src_frame()->elapsed_ns;
	return look_take(out, true);
}

int guard_watch(struct out *out, const struct guard_rates *before, const char **why)
{
	struct guard_rates after;
	int err = guard_next_look(out, apply_options.guard_ns);

	*why = "interrupted";
	if (err)
		return err;
	guard_measure(&after);
	*why = guard_compare(&irqbind.run, before, &after);
	return *why != NULL;
}
