#include "common/kernel/load.h"

#include "common/kernel/cpustat.h"
#include "common/kernel/netcount.h"
#include "common/kernel/netdev.h"
#include "common/kernel/source.h"

static uint64_t ticks_of(const uint64_t *n, size_t count)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += n[i] == NA_U64 ? 0 : n[i];
	return sum;
}

static void read_ticks(struct load *l)
{
	static struct cpu_stat stat;           /* reused from frame to frame */

	if (cpustat_read(&stat) < 0)
		return;
	const struct cpu_times *t = &stat.all;
	const uint64_t busy[] = { t->user, t->nice, t->system, t->irq, t->softirq, t->steal };
	const uint64_t idle[] = { t->idle, t->iowait };

	l->switches = stat.context_switches;
	if (t->user == NA_U64 || t->idle == NA_U64)
		return;
	l->busy_ticks = ticks_of(busy, sizeof(busy) / sizeof(*busy));
	l->total_ticks = l->busy_ticks + ticks_of(idle, sizeof(idle) / sizeof(*idle));
}

/* Packets from outside: of devices with hardware behind them, else (a container) of all but lo. */
static uint64_t read_packets(void)
{
	struct text t;
	struct net_device *devices;
	size_t count;
	uint64_t outside = 0, any = 0;
	bool has_outside = false, has_any = false;

	if (src_read("proc/net/dev", &t) < 0 ||
	    netcount_parse_devices(src_arena(), t, &devices, &count) < 0)
		return NA_U64;
	for (size_t i = 0; i < count; i++) {
		const struct net_device *d = &devices[i];

		if (d->rx_packets == NA_U64 || !strcmp(d->name, "lo"))
			continue;
		any += d->rx_packets;
		has_any = true;
		if (netdev_is_hardware(d->name)) {
			outside += d->rx_packets;
			has_outside = true;
		}
	}
	return has_outside ? outside : has_any ? any : NA_U64;
}

void load_read(struct load *l)
{
	struct text t;

	*l = (struct load){ read_packets(), NA_U64, NA_U64, NA_U64, NA_U64 };
	if (src_read("proc/net/snmp", &t) >= 0)
		l->accepts = netcount_find(t, "Tcp", "PassiveOpens");
	read_ticks(l);
}

void load_rates(const struct load *before, const struct load *now, uint64_t elapsed_ns,
		struct load_rates *r)
{
	const uint64_t packets = delta_u64(now->packets_in, before->packets_in);
	const uint64_t accepts = delta_u64(now->accepts, before->accepts);
	const uint64_t switches = delta_u64(now->switches, before->switches);

	*r = (struct load_rates){
		.packets_per_second = rate_of(packets, elapsed_ns),
		.accepts_per_second = rate_of(accepts, elapsed_ns),
		.switches_per_second = rate_of(switches, elapsed_ns),
		.busy_ratio = ratio_of(delta_u64(now->busy_ticks, before->busy_ticks),
				       delta_u64(now->total_ticks, before->total_ticks)),
	};
}
