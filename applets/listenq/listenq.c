/*
 * listenq: which accept queue overflows, whose it is, and why nobody empties it.
 */
#include <errno.h>
#include <string.h>

#include "applets/listenq/listenq.h"
#include "common/kernel/sockowner.h"
#include "common/kernel/source.h"
#include "common/report/redact.h"

#define POLL_NS 20000000u
#define POLL_LEAST_NS 1000000u

struct state listenq;

static struct look looks[2];
static unsigned looks_done;
static bool is_tcp_asked, is_unix_asked;

static const struct opt options[] = {
	{ 'N', "netns", "WHICH", "network namespaces: all, a name, a path or a PID (the own one)",
	  OPT_TEXT, &listenq.netns, false, NULL },
	{ '4', "ipv4", NULL, "IPv4 listeners only", OPT_FLAG, &listenq.ipv4, false, NULL },
	{ '6', "ipv6", NULL, "IPv6 listeners only", OPT_FLAG, &listenq.ipv6, false, NULL },
	{ 't', "tcp", NULL, "TCP and MPTCP listeners (the default)", OPT_FLAG, &is_tcp_asked, false,
	  NULL },
	{ 'x', "unix", NULL, "UNIX listeners; with -t, both", OPT_FLAG, &is_unix_asked, false,
	  NULL },
	{ 0, "pid", "PID", "only listeners these processes have open (comma list)", OPT_NUMBERS,
	  &listenq.pids, false, NULL },
	{ 0, "poll", "TIME", "sample the queues this often within the interval (20ms)",
	  OPT_DURATION, &listenq.poll_ns, false, NULL },
	{ 0, "exact", NULL,
	  "count arrivals and refused last ACKs of every listener with BPF instead of inferring",
	  OPT_FLAG, &listenq.is_exact, false, NULL },
	{ 'H', NULL, NULL, "no column names, as --no-header", OPT_FLAG, &shared.no_header, false,
	  NULL },
	{ 'l', NULL, NULL, "listeners: that is all there is; accepted out of habit", OPT_NOTHING,
	  NULL, false, NULL },
	{ 'n', NULL, NULL, "numbers, no names: the default, accepted out of habit", OPT_NOTHING,
	  NULL, false, NULL },
	{ 'p', NULL, NULL, "processes: the default, accepted out of habit (choose with --pid)",
	  OPT_NOTHING, NULL, false, NULL },
	{ 0, NULL, NULL, NULL, OPT_FLAG, NULL, false, NULL },
};

static int start(int argc, char **argv)
{
	listenq.now = &looks[0];
	listenq.before = &looks[1];
	looks_done = 0;
	listenq.tcp = is_tcp_asked || !is_unix_asked;
	listenq.unix_domain = is_unix_asked;
	if (!listenq.poll_ns)
		listenq.poll_ns = POLL_NS;
	if (argc > 1)
		return fail(EINVAL, "unexpected word '%s'", argv[1]);
	if (listenq.poll_ns < POLL_LEAST_NS)
		return fail(EINVAL, "--poll: less than 1 ms");
	if (!listenq.is_exact || !src_is_live())
		return 0;
	int err = handshake_open();

	/* a kernel that can't is not a mistake of who typed */
	return err == -EINVAL ? -ENOTSUP : err;
}

static void show_history(struct out *out, const struct look *look)
{
	static const struct {
		enum counter counter;
		const char *name;
	} kept[] = { { LISTEN_OVERFLOWS, "ListenOverflows" }, { LISTEN_DROPS, "ListenDrops" } };

	for (size_t i = 0; i < look->space_count; i++) {
		struct arena *a = out_arena(out);
		const struct space *s = &look->spaces[i];
		const char *where = look->is_single ? "" :
			arena_printf(a, " in %s", redact_name(a, NAME_CONTAINER, s->ns.name));

		for (size_t k = 0; k < sizeof(kept) / sizeof(kept[0]); k++) {
			uint64_t n = s->counters[kept[k].counter];

			if (n && n != NA_U64)
				out_history(out, "%s %s since boot%s", kept[k].name,
					    human_count(a, (double)n), where);
		}
	}
}

static int read_handshakes(struct out *out, struct look *now, const struct look *before)
{
	uint64_t lost = 0;
	int err = places_count_handshakes(now, before, &lost);

	if (lost)
		out_missing(out, "--exact: more addresses than fit, %llu handshakes not counted",
			    (unsigned long long)lost);
	for (size_t i = 0; i < now->handshake_count; i++)
		if (now->handshakes[i].count.refused == NA_U64)
			out_note(out, "--exact: this kernel has no drop reason for a last ACK that "
				 "finds the accept queue full: those are not counted");
	return err;
}

static int look(struct out *out)
{
	struct look *now = listenq.before, *before = listenq.now;
	int err;

	listenq.interval_ns = src_frame()->elapsed_ns;
	listenq.now = now;
	listenq.before = before;
	err = spaces_read(out, now, before);
	if (err < 0)
		return err;
	spaces_compare(now, before);
	err = polls_read(now);
	if (err < 0 && err != -ENOENT)
		out_missing(out, "%s", fail_text());
	places_make(now);
	if (listenq.is_exact) {
		err = read_handshakes(out, now, before);
		if (err < 0)
			return err;
	}
	if (looks_done++ || src_frame()->is_only) {
		listenq_report(out);
		listenq_show(out);
		show_history(out, now);
	}
	polls_start(now);
	return 0;
}

static void stop(void)
{
	polls_free();
	if (listenq.is_exact)
		handshake_close();
	for (size_t i = 0; i < 2; i++)
		spaces_free(&looks[i]);
	sockowner_close();
}

/* "-N blue --pid 12": what of the host was looked at; NULL: this namespace, or all. */
static const char *narrowed(struct arena *a)
{
	const char *text = listenq.netns && strcmp(listenq.netns, "all") != 0 ?
		arena_printf(a, "-N %s", listenq.netns) : NULL;

	for (size_t i = 0; i < listenq.pids.count; i++)
		text = arena_printf(a, "%s%s%llu", text ? text : "",
				    i ? "," : text ? " --pid " : "--pid ",
				    (unsigned long long)listenq.pids.items[i]);
	if (listenq.ipv4 != listenq.ipv6)
		text = arena_printf(a, "%s%s%s", text ? text : "", text ? " " : "",
				    listenq.ipv4 ? "-4" : "-6");
	return text;
}

static const struct mode mode = {
	.narrowed = narrowed,
	.operands = "[interval [count]]",
	.opts = options,
	.tables = listenq_tables,
	.in_triage = true,
	.takes_interval = true,
	.start = start,
	.look = look,
	.poll = polls_sample,
	.stop = stop,
};
static const struct mode *const modes[] = { &mode, NULL };

const struct applet applet_listenq = {
	.name = "listenq",
	.summary = "which accept queue overflows, whose it is, and why nobody empties it",
	.area = "accept queues",
	.modes = modes,
	.findings = listenq_findings,
};
