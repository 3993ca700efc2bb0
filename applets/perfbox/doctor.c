/*
 * perfbox --doctor: what this host lets the program see. Every capability is probed by use; a
 * refusal is explained, with the least that would lift it and what each applet lacks until then.
 */
#include <errno.h>
#include <string.h>

#include "applets/perfbox/capability.h"
#include "applets/perfbox/perfbox.h"
#include "common/kernel/source.h"
#include "common/report/redact.h"

static const struct column columns[] = {
	COL(struct capability, capability, "CAPABILITY", ROLE_KEY, UNIT_TEXT, "what was tried"),
	COL(struct capability, state, "STATE", ROLE_TEXT, UNIT_TEXT,
	    "ok, limited (in part), refused (not to us), off (built in, not turned on), absent"),
	COL(struct capability, why, "WHY", ROLE_TEXT, UNIT_TEXT,
	    "what was seen, and what explains a refusal"),
	COL(struct capability, unlock, NULL, ROLE_TEXT, UNIT_TEXT,
	    "the least privilege or setting that unlocks it; people read it below the table"),
	COL(struct capability, affects, NULL, ROLE_TEXT, UNIT_TEXT,
	    "which applets lose what without it; people read it below the table"),
	COL(struct capability, usable, NULL, ROLE_GAUGE, UNIT_YES, "ok or limited"),
};

static const struct table capabilities = {
	.name = "capabilities", .help = "one thing the applets may need",
	TABLE(struct capability, columns),
};
static const struct table *const tables[] = { &capabilities, NULL };

/* What an applet lacks without a capability. */
static const struct { const char *capability, *applet, *lost; } losses[] = {
	{ "btf", "cpuwait", "--exact" },
	{ "bpf", "cpuwait", "--exact" },
	{ "proc", "cpuwait", "what it may not see" },
	{ "proc", "triage", "what it may not see" },
	{ "proc", "oomcheck", "processes it may not see, and what they believe" },
	{ "schedstat", "cpuwait", "%WAIT and its split (switches and pressure remain)" },
	{ "schedstat", "triage", "waits of threads (throttled groups and pressure remain)" },
	{ "psi", "cpuwait", "PSI" },
	{ "psi", "triage", "cpu, memory and io pressure" },
	{ "psi", "oomcheck", "pressure, and the findings that need it" },
	{ "cgroup", "cpuwait", "quotas, throttling and %THRTL" },
	{ "cgroup", "triage", "quotas and throttling" },
	{ "memory", "oomcheck", "groups, their limits and who is next in them" },
	{ "memory", "triage", "memory limits" },
	{ "kmsg", "oomcheck", "kills but for their number, and why they were" },
	{ "kmsg", "triage", "past findings, dated by the kernel log" },
	{ "netns", "triage", "network namespaces other than its own" },
	{ "openat2", "compare", "all: saved runs can't be opened" },
};

/* "cpuwait loses --exact; triage loses ...", of the applets there are; NULL: none lacks it. */
static const char *find_losses(const char *capability)
{
	struct buf text = { 0 };
	const char *copy = NULL;

	for (size_t i = 0; i < sizeof(losses) / sizeof(*losses); i++)
		if (!strcmp(losses[i].capability, capability) && applet_find(losses[i].applet))
			buf_printf(&text, "%s%s loses %s", text.len ? "; " : "", losses[i].applet,
				   losses[i].lost);
	if (text.len)
		copy = arena_text(src_arena(), buf_text(&text));
	buf_free(&text);
	return copy;
}

/* Below the table, what does not fit into it. */
static void print_lines(struct out *out, const struct capability *row)
{
	bool has_label = false;

	if (row->unlock) {
		out_line(out, row->capability, "unlock: %s", row->unlock);
		has_label = true;
	}
	if (row->affects)
		out_line(out, has_label ? " " : row->capability, "lost: %s", row->affects);
}

static int start(int argc, char **argv)
{
	return argc > 1 ? fail(EINVAL, "unexpected word '%s'", argv[1]) : 0;
}

static int run(struct out *out)
{
	const struct src_uname *host = src_uname();
	const char *who = src_uid() == NA_U64 ? "-" : src_uid() ? "not root" : "root";
	struct capability row;
	bool any = false;

	out_host(out, "perfbox doctor  %s  %s  %s",
		 host->host ? redact_name(src_arena(), NAME_HOST, host->host) : "-",
		 host->release ? host->release : "-", who);
	for (size_t i = 0; capability_probe(i, &row); i++) {
		bool is_whole = row.state && !strcmp(row.state, "ok");

		row.affects = is_whole ? NULL : find_losses(row.capability);
		any = any || (row.state && strcmp(row.state, "absent") != 0 && !row.is_own);
		out_row(out, &capabilities, &row);
		if (row.state && !is_whole)
			print_lines(out, &row);
	}
	if (!any)
		out_missing(out, "nothing could be probed");
	return 0;
}

static const struct mode mode = { .tables = tables, .start = start, .run = run };
static const struct mode *const modes[] = { &mode, NULL };

const struct applet applet_doctor = {
	.name = "doctor",
	.summary = "what this host lets the program see, why not more, and what unlocks it",
	.modes = modes,
};
