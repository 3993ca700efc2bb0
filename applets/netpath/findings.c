/* What a finding of any layer has: where, how much of what, and what else counted the same. */
#include "applets/netpath/netpath.h"

#include <string.h>

#include "common/report/redact.h"

const struct finding_kind netpath_findings[] = {
	{ "netpath.carrier", "now", "a device lost or got its carrier in the interval" },
	{ "netpath.link", "now",
	  ">= 10 frames and >= 0.1 % were damaged (checksum, length, collisions), or the receiving "
	  "end of a veth dropped them: they are larger than its MTU" },
	{ "netpath.ring", "now",
	  ">= 10 packets and >= 0.01 % found a device's ring full: the host, or the program behind "
	  "a tap, did not take them fast enough" },
	{ "netpath.xdp", "now",
	  ">= 10 packets and >= 0.1 % were lost to XDP's own errors: exceptions, failed sends and "
	  "redirects; never what a program chose to drop" },
	{ "netpath.tc", "now",
	  ">= 10 packets and >= 0.1 % of what came to a filter were dropped by its action (police, "
	  "drop), at a device's ingress or egress; never what a bpf program chose to drop" },
	{ "netpath.softnet", "now",
	  ">= 10 packets and >= 0.1 % found a CPU's backlog (netdev_max_backlog) full" },
	{ "netpath.softirq-load", "risk",
	  "a CPU spends >= 30 % of its time in softirqs while it takes >= 1,000 packets/s, and "
	  "its backlog loses none" },
	{ "netpath.qdisc", "now",
	  ">= 10 packets and >= 0.1 % were dropped by a queueing discipline or class; of one that "
	  "drops to keep its queue short (fq_codel, cake, red, pie): >= 2 % and >= 50/s" },
	{ "netpath.cloud-limit", "now",
	  "a counter of what is over the instance's allowance moved (ENA: bandwidth, packets, "
	  "connections, link-local)" },
	{ "netpath.neighbour", "now",
	  ">= 10 packets found the neighbour table full, or the queue of those that wait for an "
	  "address" },
	{ "netpath.route", "now",
	  ">= 10 packets and >= 0.1 % had no route (only where there is an address of that kind; "
	  "to be forwarded only where it is on), or, >= 20/s and >= 1 %, were for others while "
	  "forwarding is off" },
	{ "netpath.rp-filter", "now", ">= 10 packets and >= 0.1 % failed the reverse path check" },
	{ "netpath.mtu", "now",
	  ">= 5 packets could not be fragmented, and a TCP connection that sends larger ones is at "
	  "its timeout" },
	{ "netpath.reassembly", "now", ">= 10 datagrams lost a fragment, >= 1 % of fragments" },
	{ "netpath.checksum", "now", ">= 10 packets and >= 0.01 % had a wrong checksum" },
	{ "netpath.filter", "now",
	  ">= 10 packets and >= 0.1 % dropped by a rule in OUTPUT (rejects, limits and rules for "
	  "invalid packets aside), by chance or quota, or of an open connection at its timeout" },
	{ "netpath.conntrack", "now",
	  ">= 10 packets: the table is full, or a flow clashed (in triage: conntrack-top's)" },
	{ "netpath.tcp-retrans", "now",
	  ">= 50 segments and >= 2 % sent again, less what the peers had already and probes, and "
	  "less what another layer lost" },
	{ "netpath.listen", "now",
	  ">= 3 SYNs dropped, an accept queue overflowed (in triage: listenq's)" },
	{ "netpath.udp-rcvbuf", "now",
	  ">= 10 datagrams and >= 0.1 % found the buffer of their socket full" },
	{ NULL, NULL, NULL },
};

static const struct space *space_of(const struct walk *w, size_t space)
{
	return space == NO_SPACE ? NULL : &w->now->spaces[space];
}

const char *netpath_space_name(struct arena *a, const struct walk *w, size_t space)
{
	const struct space *s = space_of(w, space);

	return s ? redact_name(a, NAME_CONTAINER, s->ns.name) : NULL;
}

const char *netpath_in_space(struct arena *a, const struct space *s)
{
	return s->ns.is_own ? "" :
		arena_printf(a, " in %s", redact_name(a, NAME_CONTAINER, s->ns.name));
}

const char *netpath_command_in(struct arena *a, const struct walk *w, size_t space,
			       const char *command)
{
	const struct space *s = space_of(w, space);

	if (!s || s->ns.is_own)
		return command;
	if (!s->ns.path || redact_is_on())
		return arena_printf(a, "%s (in that namespace)", command);
	return arena_printf(a, "nsenter --net=%s %s",
			    out_shell_word(a, arena_printf(a, "/%s", s->ns.path)), command);
}

const char *netpath_option_of(struct arena *a, const struct walk *w, size_t space)
{
	const struct space *s = space_of(w, space);

	if (!s || s->ns.is_own)
		return "";
	if (s->ns.path && !strncmp(s->ns.path, "run/netns/", 10))
		return arena_printf(a, " -N %s",
				    out_shell_word(a, redact_name(a, NAME_CONTAINER, s->ns.name)));
	if (s->ns.pid)
		return arena_printf(a, " -N %u", s->ns.pid);
	return s->ns.path && !redact_is_on() ?
		arena_printf(a, " -N %s", out_shell_word(a, arena_printf(a, "/%s", s->ns.path))) :
		" -N all";
}

/* "tx_dropped of v1 in blue +12" */
static const char *echo_text(struct arena *a, const struct walk *w, const struct meter *m)
{
	const char *text = NULL;

	for (size_t i = 0; i < m->echo_count; i++) {
		const struct meter *e = &w->meters[m->echoes[i].meter];
		const struct block *b = &w->blocks[e->block];
		const bool is_elsewhere = b->space != w->blocks[m->block].space;
		const char *space = is_elsewhere ? netpath_space_name(a, w, b->space) : NULL;

		text = arena_printf(a, "%s%s%s%s%s%s +%s", text ? text : "", text ? ", " : "",
				    e->name, b->ifindex ? arena_printf(a, " of %s", b->subject) :
				    "", space ? " in " : "", space ? space : "",
				    human_count_u64(a, m->echoes[i].count));
	}
	return text;
}

struct finding *netpath_finding(struct out *out, const struct walk *w, const char *id,
				enum finding_state state, const struct meter *m,
				const char *subject)
{
	struct arena *a = out_arena(out);
	const struct block *b = &w->blocks[m->block];
	struct finding *f = finding_start(a, netpath_findings, id, state,
					  subject ? subject : b->subject);
	const double share = path_share(w, m);

	f->netns = netpath_space_name(a, w, b->space);
	f->lost = rate_of(m->own, w->interval_ns);
	finding_u64(f, "drops", m->own);
	finding_u64(f, "counted", m->count);
	finding_u64(f, "packets_in", b->packets_in);
	finding_u64(f, "packets_out", b->packets_out);
	finding_f64(f, "drop_ratio", share);
	finding_text(f, "direction", NAME_PLAIN, b->direction == DIR_TX ? "tx" :
		     b->direction == DIR_RX ? "rx" : NULL);
	finding_text(f, "echoes", NAME_PLAIN, echo_text(a, w, m));
	finding_u64(f, "interval_ns", w->interval_ns);
	return f;
}

void netpath_finish(struct out *out, const struct walk *w, const struct meter *m,
		    struct finding *f)
{
	const struct block *b = &w->blocks[m->block];
	const char *echoes = echo_text(f->arena, w, m);

	if (echoes)
		finding_line(f, "echoes %s", echoes);
	finding_proof(f, "%s: %s +%s", netpath_command_in(f->arena, w, b->space, m->proof),
		      m->name, human_count_u64(f->arena, m->count));
	out_finding(out, f);
}

const char *netpath_lost_text(struct arena *a, const struct walk *w, const struct meter *m)
{
	const double share = path_share(w, m);

	return arena_printf(a, "%s %s lost (%s%s%s)", human_count_u64(a, m->own),
			    m->own == 1 ? "packet" : "packets",
			    human_rate(a, rate_of(m->own, w->interval_ns)),
			    is_na_f64(share) ? "" : ", ",
			    is_na_f64(share) ? "" : human_ratio(a, share));
}
