/*
 * irqbind: which CPUs take the packets, which should, and how to get there and back.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "applets/irqbind/irqbind.h"
#include "common/base/scan.h"
#include "common/kernel/source.h"

static enum policy policy;

#define PLAN_OPTIONS \
	{ 0, "cpus", "LIST", \
	  "only these CPUs (all online ones that are neither isolated nor nohz_full)", OPT_TEXT, \
	  &plan_options.cpus, false, NULL }, \
	{ 0, "exclude", "LIST", "not these CPUs", OPT_TEXT, &plan_options.exclude, false, NULL }, \
	{ 0, "map", "QUEUE=CPU,...", "these queues to these CPUs, whatever the policy", OPT_TEXT, \
	  &plan_options.map, false, NULL }, \
	{ 0, "ring", "SIZE", \
	  "rings of that many descriptors, or max; this may reset the link", OPT_TEXT, \
	  &plan_options.ring, false, NULL }, \
	{ 0, "sysctl", "NAME=VALUE", "a setting of net to change, behind all else", OPT_TEXTS, \
	  &plan_options.sysctls, false, NULL }

#define END { 0, NULL, NULL, NULL, OPT_FLAG, NULL, false, NULL }

static const struct opt show_options[] = {
	{ 0, "journal", "DIR", "report what has changed since the plan of this journal was applied",
	  OPT_TEXT, &apply_options.journal, false, NULL },
	END,
};
static const struct opt plan_opts[] = { PLAN_OPTIONS, END };
static const struct opt apply_opts[] = {
	{ 0, "journal", "DIR", "where to keep what stood there before: made 0700; needed", OPT_TEXT,
	  &apply_options.journal, false, NULL },
	PLAN_OPTIONS,
	{ 0, "all-or-nothing", NULL, "put all back if one step fails", OPT_FLAG,
	  &apply_options.is_all_or_nothing, false, NULL },
	{ 0, "guard", "SECONDS",
	  "measure that long before and after; put all back if drops, softirq time or retransmits "
	  "got worse, or on Ctrl-C",
	  OPT_DURATION, &apply_options.guard_ns, false, NULL },
	{ 0, "force", NULL, "although irqbalance runs, or a value is not what the plan says",
	  OPT_FLAG, &apply_options.is_forced, false, NULL },
	END,
};
static const struct opt rollback_opts[] = {
	{ 0, "force", NULL, "a journal of another boot or host, too", OPT_FLAG,
	  &apply_options.is_forced, false, NULL },
	END,
};

/* ---- show ---- */

static int show_start(int argc, char **argv)
{
	irqbind.look_count = 0;
	irqbind.names = arena_alloc(&irqbind.run, ((size_t)argc + 1) * sizeof(*irqbind.names));
	for (int i = 1; i < argc; i++)
		irqbind.names[irqbind.name_count++] = argv[i];
	return 0;
}

static int show_look(struct out *out)
{
	irqbind.interval_ns = src_frame()->elapsed_ns;
	int err = look_take(out, true);

	if (err < 0)
		return err;
	if (irqbind.look_count == 1 && !src_frame()->is_only)
		return 0;
	if (out_wants_rows(out))
		show_rows(out);
	report_findings(out);
	if (apply_options.journal)
		report_journal(out);
	return 0;
}

/* ---- plan ---- */

static int plan_start(int argc, char **argv)
{
	return plan_check(argc - 1, argv + 1, &policy);
}

static int plan_run(struct out *out)
{
	struct irqbalance b;
	struct plan p;
	int err = look_take(out, false);

	if (err >= 0)
		err = plan_make(out, out_arena(out), policy, &p);
	if (err < 0)
		return err;
	plan_show(out, &p);
	irqbalance_find(out_arena(out), true, &b);
	if (b.pid)
		out_note(out, "irqbalance runs (PID %u) and would move these interrupts again: "
			      "--apply refuses without --force", b.pid);
	return 0;
}

static void stop(void)
{
	look_free_all();
}

static const char *narrowed(struct arena *a)
{
	const char *text = NULL;

	for (size_t i = 0; i < irqbind.name_count; i++)
		text = arena_printf(a, "%s%s%s", text ? text : "", text ? " " : "",
				    irqbind.names[i]);
	return text;
}

static const struct mode show_mode = {
	.operands = "[IFACE...] [interval [count]]",
	.opts = show_options,
	.tables = irqbind_show_tables,
	.narrowed = narrowed,
	.in_triage = true,
	.takes_interval = true,
	.takes_words = true,
	.start = show_start,
	.look = show_look,
	.stop = stop,
};
static const struct mode plan_mode = {
	.option = "--plan",
	.operands = "POLICY [IFACE...]",
	.summary = "the steps to spread interrupts: spread, node, single CPU, compact, map",
	.opts = plan_opts,
	.tables = irqbind_plan_tables,
	.start = plan_start,
	.run = plan_run,
	.stop = stop,
};
static const struct mode apply_mode = {
	.option = "--apply",
	.operands = "PLAN|POLICY [IFACE...]",
	.summary = "take these steps; what stood there before is in the journal",
	.opts = apply_opts,
	.tables = irqbind_plan_tables,
	.start = apply_start,
	.run = apply_run,
	.stop = stop,
};
static const struct mode rollback_mode = {
	.option = "--rollback",
	.operands = "DIR",
	.summary = "put back what the journal holds",
	.opts = rollback_opts,
	.tables = irqbind_plan_tables,
	.start = rollback_start,
	.run = rollback_run,
	.stop = stop,
};
static const struct mode verify_mode = {
	.option = "--verify",
	.operands = "DIR [interval [count]]",
	.summary = "is the plan of this journal in force, and do interrupts arrive there",
	.opts = rollback_opts,
	.tables = irqbind_verify_tables,
	.takes_interval = true,
	.takes_words = true,
	.once = true,
	.start = verify_start,
	.look = verify_look,
	.stop = stop,
};
static const struct mode *const modes[] = { &show_mode, &plan_mode, &apply_mode, &rollback_mode,
					    &verify_mode, NULL };

const struct applet applet_irqbind = {
	.name = "irqbind",
	.summary = "spread a network card's interrupts: see it, plan it, apply it, take it back",
	.area = "interrupts",
	.modes = modes,
	.findings = irqbind_findings,
};
