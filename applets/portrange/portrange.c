/*
 * portrange: which destination runs out of local ports, when, and what holds them?
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "applets/portrange/portrange.h"
#include "common/kernel/boundports.h"
#include "common/kernel/sockowner.h"
#include "common/kernel/source.h"
#include "common/report/redact.h"

#define SPACES_MAX 4096u

struct portrange portrange;

static struct {
	const char *netns, *source, *destination;
	uint64_t port;
	bool tcp, udp, ipv4, ipv6;
	struct tuple_key key;          /* source and destination of their family, if asked */
	uint8_t source_family, destination_family;
} asked = { .port = NA_U64 };

static const struct opt options[] = {
	{ 'N', "netns", "NAME", "of this network namespace: all, a name, a path or a PID (its own)",
	  OPT_TEXT, &asked.netns, false, NULL },
	{ 's', "source", "ADDR", "only connections from this address", OPT_TEXT, &asked.source,
	  false, NULL },
	{ 'd', "destination", "ADDR", "only connections to this address", OPT_TEXT,
	  &asked.destination, false, NULL },
	{ 0, "dport", "PORT", "only connections to this port", OPT_NUMBER, &asked.port, false,
	  NULL },
	{ 't', "tcp", NULL, "TCP alone (TCP and UDP)", OPT_FLAG, &asked.tcp, false, NULL },
	{ 'u', "udp", NULL, "UDP alone", OPT_FLAG, &asked.udp, false, NULL },
	{ '4', "ipv4", NULL, "only connections over IPv4, v4-mapped ones included", OPT_FLAG,
	  &asked.ipv4, false, NULL },
	{ '6', "ipv6", NULL, "only connections over IPv6", OPT_FLAG, &asked.ipv6, false, NULL },
	{ 0, "by", "KEY",
	  "a row per source, destination and port (tuple), or per destination address (tuple)",
	  OPT_TEXT, &portrange.by, false, "tuple|dst" },
	{ 0, "exact", NULL,
	  "find ports of sockets bound before they connected, with BPF, where a quarter of the "
	  "range may be in use",
	  OPT_FLAG, &portrange.is_exact, false, NULL },
	{ 0, NULL, NULL, NULL, OPT_FLAG, NULL, false, NULL },
};

bool portrange_is_open(void)
{
	return asked.port == NA_U64 && !asked.source && !asked.destination &&
		asked.ipv4 == asked.ipv6;
}

static int parse_address(const char *option, const char *text, uint8_t *address, uint8_t *family)
{
	static const uint8_t families[] = { AF_INET, AF_INET6 };

	for (size_t i = 0; i < 2; i++)
		if (inet_pton(families[i], text, address) == 1) {
			*family = families[i];
			return 0;
		}
	return fail(EINVAL, "%s: '%s' is not an address", option, text);
}

static int start(int argc, char **argv)
{
	int err = 0;

	portrange.looks = 0;
	if (argc > 1)
		return fail(EINVAL, "unexpected word '%s'", argv[1]);
	if (asked.port != NA_U64 && asked.port > UINT16_MAX)
		return fail(EINVAL, "--dport: there is no port %llu",
			    (unsigned long long)asked.port);
	if (asked.source)
		err = parse_address("-s", asked.source, asked.key.source, &asked.source_family);
	if (!err && asked.destination)
		err = parse_address("-d", asked.destination, asked.key.destination,
				    &asked.destination_family);
	if (err)
		return err;
	if (!asked.tcp && !asked.udp)
		asked.tcp = asked.udp = true;
	if (!asked.ipv4 && !asked.ipv6)
		asked.ipv4 = asked.ipv6 = true;
	if (!portrange.is_exact || !src_is_live())
		return 0;
	err = boundports_open();
	/* a kernel that can't is not a mistake of who typed */
	return err == -EINVAL ? -ENOTSUP : err;
}

static bool is_asked(const uint8_t *address, uint8_t family, const uint8_t *wanted,
		     uint8_t wanted_family)
{
	return !wanted_family || (family == wanted_family &&
				  !memcmp(address, wanted, sizeof(asked.key.source)));
}

bool portrange_passes(const struct tuple_key *key)
{
	return (key->family == AF_INET ? asked.ipv4 : asked.ipv6) &&
		(asked.port == NA_U64 || key->port == asked.port) &&
		is_asked(key->source, key->family, asked.key.source, asked.source_family) &&
		is_asked(key->destination, key->family, asked.key.destination,
			 asked.destination_family);
}

/* Its place from the look before, one that is free again, or a new one; NULL: too many. */
static struct space *find_space(const struct netns *ns)
{
	struct space *spare = NULL;

	for (size_t i = 0; i < portrange.space_count; i++) {
		struct space *s = &portrange.spaces[i];

		if (s->inode == ns->inode)
			return s;
		/* tuples of the look before may still refer to one that was there then */
		if (s->last_look + 2 < portrange.looks)
			spare = s;
	}
	if (!spare && portrange.space_count == SPACES_MAX)
		return NULL;
	if (!spare) {
		portrange.spaces = mem_grow(portrange.spaces, &portrange.space_cap,
					    portrange.space_count + 1, sizeof(*portrange.spaces));
		spare = &portrange.spaces[portrange.space_count++];
	}
	*spare = (struct space){ .inode = ns->inode, .overflows = NA_U64, .recycled = NA_U64 };
	if (portrange.looks > 1 && netns_is_new(ns, src_frame()->index - 1)) {
		spare->has_tcp = spare->has_udp = true;
		spare->overflows = spare->recycled = 0;
	}
	return spare;
}

/* Of the namespaces a saved run lists, it may be of one alone. */
static bool is_in_run(void)
{
	return src_is_live() || src_exists("proc/net/netstat");
}

/* Whether it could be looked at. must: if not, that is worth a complaint. */
static bool look_at(struct out *out, const struct netns *ns, bool must)
{
	struct space *s = find_space(ns);

	if (!s) {
		out_missing(out, "more than %u network namespaces: the rest is left out",
			    SPACES_MAX);
		return false;
	}
	int err = netns_enter(ns);

	if (err < 0 && err != -ESRCH && must) {
		out_missing(out, "%s: %s",
			    redact_name(src_arena(), NAME_CONTAINER, ns->name), fail_text());
	} else if (err < 0 && err != -ESRCH) {
		out_note(out, "other network namespaces are not seen: %s", fail_text());
		out_unseen(out, NETNS_UNSEEN);
	}
	if (err < 0 || (!must && !is_in_run())) {
		s->has_tcp = s->has_udp = false;
		if (err >= 0)
			netns_leave();
		return false;
	}
	s->ns = ns;
	s->last_look = portrange.looks;
	portrange_read_space(out, s, asked.tcp, asked.udp);
	if (netns_leave() < 0)
		out_missing(out, "%s", fail_text());
	return true;
}

static int read_spaces(struct out *out)
{
	struct netns_list list;
	/* where only findings are wanted nearly all are done with their sockstat */
	const char *wanted = asked.netns || out_wants_rows(out) ? asked.netns : "all";
	int err = netns_select(wanted, &list);

	if (err < 0 && (portrange.looks == 1 || !asked.netns))
		return err;
	if (err < 0) {
		out_missing(out, "%s", fail_text());
		return 0;
	}
	bool is_found = false;

	for (size_t i = 0; i < list.count; i++)
		is_found |= look_at(out, &list.items[i], wanted == asked.netns);
	if (!is_found && wanted != asked.netns && list.count)
		look_at(out, &list.items[0], true);
	if (wanted != asked.netns && !list.is_complete)
		out_unseen(out, NETNS_UNSEEN);
	if (asked.netns && !strcmp(asked.netns, "all") && !list.is_complete)
		out_note(out, "some processes can't be looked into: there may be more network "
			      "namespaces");
	return 0;
}

static int look(struct out *out)
{
	const struct frame *frame = src_frame();

	portrange.looks++;
	portrange.interval_ns = frame->elapsed_ns;
	portrange.arena = out_arena(out);
	for (size_t i = 0; i < portrange.space_count; i++)
		portrange.spaces[i].ns = NULL;
	tuples_begin();
	int err = read_spaces(out);

	if (err < 0)
		return err;
	if (portrange.tuples_left_out)
		out_missing(out, "too many destinations: %llu sockets are in no row",
			    (unsigned long long)portrange.tuples_left_out);
	if (portrange.has_lost_rates)
		out_note(out, "too many sockets to tell which are new: rates are unknown");
	if (portrange.looks == 1 && !frame->is_only)
		return 0;
	if (!frame->is_only && !frame->elapsed_ns)
		out_missing(out,
			    "a frame without a clock, or one that stood still: rates are unknown");
	portrange_show_host(out);
	portrange_show_rows(out);
	portrange_report(out);
	return 0;
}

static void stop(void)
{
	if (portrange.is_exact)
		boundports_close();
	sockowner_close();
	tuples_free();
	free(portrange.spaces);
	portrange = (struct portrange){ .by = portrange.by, .is_exact = portrange.is_exact };
}

/* "-N web -d 10.0.0.9": what of the host was looked at; NULL: all of it. */
static const char *narrowed(struct arena *a)
{
	const char *text = asked.netns && strcmp(asked.netns, "all") != 0
		? arena_printf(a, " -N %s", asked.netns) : "";

	if (asked.source)
		text = arena_printf(a, "%s -s %s", text, asked.source);
	if (asked.destination)
		text = arena_printf(a, "%s -d %s", text, asked.destination);
	if (asked.port != NA_U64)
		text = arena_printf(a, "%s --dport %llu", text, (unsigned long long)asked.port);
	if (asked.tcp != asked.udp)
		text = arena_printf(a, "%s %s", text, asked.tcp ? "-t" : "-u");
	if (asked.ipv4 != asked.ipv6)
		text = arena_printf(a, "%s %s", text, asked.ipv4 ? "-4" : "-6");
	return *text ? text + 1 : NULL;
}

/* UDP has no destinations. */
static const char *first_table(void)
{
	return asked.udp && !asked.tcp ? "ranges" : "destinations";
}

static const struct mode mode = {
	.first_table = first_table,
	.narrowed = narrowed,
	.operands = "[interval [count]]",
	.opts = options,
	.tables = portrange_tables,
	.in_triage = true,
	.takes_interval = true,
	.start = start,
	.look = look,
	.stop = stop,
};
static const struct mode *const modes[] = { &mode, NULL };

const struct applet applet_portrange = {
	.name = "portrange",
	.summary = "which destination runs out of local ports, when, and what holds them",
	.area = "ports",
	.modes = modes,
	.findings = portrange_findings,
};
