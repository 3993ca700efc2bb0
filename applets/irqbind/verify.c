/* Is the plan of a journal still in force: what stands there, where interrupts go and come in. */
#include <errno.h>
#include <string.h>

#include "applets/irqbind/irqbind.h"
#include "common/kernel/setting.h"
#include "common/kernel/source.h"

#define NAMED_MAX 4                    /* steps named in a finding */

struct verify_row {
	uint64_t step, arrived, elsewhere;
	const char *path, *wanted, *value, *effective, *state;
};

static const struct column verify_columns[] = {
	COL(struct verify_row, step, "STEP", ROLE_KEY, UNIT_ID, "of the journal"),
	COL(struct verify_row, path, "PATH", ROLE_KEY, UNIT_TEXT, "what was written"),
	COL(struct verify_row, wanted, "WANTED", ROLE_TEXT, UNIT_TEXT, "the plan's value"),
	COL(struct verify_row, value, "NOW", ROLE_TEXT, UNIT_TEXT, "what stands there"),
	COL(struct verify_row, effective, "EFFECT", ROLE_TEXT, UNIT_TEXT,
	    "interrupts: CPUs it goes to"),
	COL(struct verify_row, arrived, "ARRIVED", ROLE_COUNTER_DELTA, UNIT_COUNT,
	    "interrupts that came in on the CPUs wanted"),
	COL(struct verify_row, elsewhere, "ELSEWHERE", ROLE_COUNTER_DELTA, UNIT_COUNT,
	    "interrupts that came in on others"),
	COL(struct verify_row, state, "STATE", ROLE_TEXT, UNIT_TEXT,
	    "in force; changed; not effective; not applied; gone"),
};
static const struct table verify_table = { .name = "verify",
					   .help = "a step of the journal",
					   TABLE(struct verify_row, verify_columns) };
const struct table *const irqbind_verify_tables[] = { &verify_table, NULL };

static struct journal journal;

static int read_journal(const char *dir)
{
	struct journal_file f;
	struct text content;
	int err = journal_open(&f, dir, JOURNAL_READ, &irqbind.run, &content);

	if (err < 0)
		return err;
	journal_close(&f);
	err = journal_parse(&irqbind.run, content, &journal);
	if (err >= 0 && journal.is_rolled_back)
		return fail(ENOENT, "%s: it was rolled back: nothing is in force", dir);
	return err;
}

static int load(const char *dir)
{
	uint32_t *irqs;
	int err = read_journal(dir);

	if (err < 0)
		return err == -EINVAL ? -EPROTO : err;
	irqs = arena_alloc(&irqbind.run, (journal.count + 1) * sizeof(*irqs));
	for (size_t i = 0; i < journal.count; i++) {
		const uint64_t irq = setting_irq_of(journal.steps[i].path);

		if (irq <= UINT32_MAX)
			irqs[irqbind.wanted_count++] = (uint32_t)irq;
	}
	irqbind.wanted = irqs;
	return 0;
}

int verify_start(int argc, char **argv)
{
	if (argc != 2)
		return fail(EINVAL, "--verify takes the journal's folder");
	apply_options.journal = argv[1];
	return load(argv[1]);
}

/* What stands there now, as the frame has it; NULL with fail text. */
static const char *value_now(struct arena *a, const char *path)
{
	struct nic_rings rings;
	struct text t;

	if (setting_kind_of(path) == SETTING_RING) {
		const char *nic = path + strlen("ring/"), *slash = strchr(nic, '/');

		if (ethtool_read_rings(arena_printf(a, "%.*s", (int)(slash - nic), nic), &rings) <
		    0)
			return NULL;
		return arena_printf(a, "%llu",
				    (unsigned long long)(slash[1] == 'r' ? rings.rx : rings.tx));
	}
	if (src_read(path, &t) < 0)
		return NULL;
	while (t.len && strchr(" \t\n", t.data[t.len - 1]))
		t.len--;
	return arena_text(a, t);
}

/* ---- a step ---- */

static void parse_wanted(const struct journal_step *s, struct cpumask *m)
{
	*m = (struct cpumask){ { 0 } };
	if (setting_kind_of(s->path) == SETTING_IRQ_MASK)
		cpumask_parse_hex(text_of(s->new), m);
	else
		cpumask_parse_list(text_of(s->new), m);
}

static void report_not_effective(struct out *out, const struct verify_row *row, uint32_t number)
{
	struct arena *a = out_arena(out);
	struct finding *f = irqbind_finding(out, "irqbind.affinity-not-effective", STATE_NOW,
					    arena_printf(a, "IRQ %u", number));

	finding_u64(f, "irq", number);
	finding_text(f, "asked", NAME_PLAIN, row->wanted);
	finding_text(f, "effective", NAME_PLAIN, row->effective);
	finding_u64(f, "interrupts", row->elsewhere);
	finding_u64(f, "interval_ns", irqbind.interval_ns);
	finding_line(f, "was put on CPU %s and goes to CPU %s: %s interrupts came in there",
		     row->wanted, row->effective, human_count(a, (double)row->elsewhere));
	finding_proof(f, "/proc/irq/%u/effective_affinity_list; /proc/interrupts", number);
	out_finding(out, f);
}

static void check_irq(struct out *out, const struct journal_step *s, struct verify_row *row)
{
	const uint64_t number = setting_irq_of(s->path);
	struct arena *a = out_arena(out);
	struct cpumask wanted;
	struct irq irq;

	if (number > UINT32_MAX || irq_read(a, (uint32_t)number, &irq) < 0)
		return;
	parse_wanted(s, &wanted);
	const uint64_t all = irq_delta_all((uint32_t)number, NULL);

	if (all != NA_U64) {
		row->arrived = 0;
		CPUMASK_EACH(cpu, &wanted)
			row->arrived = sum_u64(row->arrived, irq_delta((uint32_t)number, cpu));
		row->elsewhere = delta_u64(all, row->arrived);
	}
	if (!irq.has_effective)
		return;
	row->effective = cpumask_list_text(a, &irq.effective);
	if (strcmp(row->state, "in force") != 0 || cpumask_meets(&wanted, &irq.effective))
		return;
	/* it moves with the next interrupt */
	row->state = "not effective";
	if (row->elsewhere && row->elsewhere != NA_U64)
		report_not_effective(out, row, (uint32_t)number);
}

/* ---- all of them ---- */

struct changes {
	size_t count;
	const char *text;              /* "/proc/irq/24/smp_affinity_list is 0-3, not 2; ..." */
};

static void add_change(struct arena *a, struct changes *c, const struct verify_row *row)
{
	if (c->count++ >= NAMED_MAX)
		return;
	c->text = arena_printf(a, "%s%s%s is %s, not %s", c->text ? c->text : "",
			       c->text ? "; " : "", row->path, row->value, row->wanted);
}

static void check_step(struct out *out, size_t i, struct changes *changes)
{
	const struct journal_step *s = &journal.steps[i];
	const enum setting_kind kind = setting_kind_of(s->path);
	struct arena *a = out_arena(out);
	struct verify_row row = {
		.step = i + 1,
		.arrived = NA_U64,
		.elsewhere = NA_U64,
		.path = kind == SETTING_RING ? s->path : arena_printf(a, "/%s", s->path),
		.wanted = s->now ? s->now : s->new,
		.value = value_now(a, s->path),
		.state = "in force",
	};

	if (s->err || s->is_undone)
		row.state = "not applied";
	else if (!row.value)
		row.state = "gone";
	else if (!setting_is_same(kind, row.value, row.wanted))
		row.state = "changed";
	if (!strcmp(row.state, "gone"))
		out_missing(out, "%s", fail_text());
	if (!strcmp(row.state, "changed"))
		add_change(a, changes, &row);
	check_irq(out, s, &row);
	out_row(out, &verify_table, &row);
}

static void report_changes(struct out *out, const struct changes *c)
{
	struct arena *a = out_arena(out);
	struct irqbalance b;

	if (!c->count)
		return;
	irqbalance_find(a, true, &b);
	struct finding *f = irqbind_finding(out, "irqbind.irqbalance-conflict", STATE_NOW,
					    apply_options.journal);

	finding_u64(f, "changed", c->count);
	finding_u64(f, "steps", journal.count);
	finding_u64(f, "irqbalance_pid", b.pid ? b.pid : NA_U64);
	finding_line(f, "%zu of %zu settings are not what was applied: %s%s", c->count,
		     journal.count, c->text, c->count > NAMED_MAX ? "; ..." : "");
	finding_line(f, b.pid ? "irqbalance runs, PID %u: the likely one"
		     : "irqbalance does not run: something else did it", b.pid);
	finding_proof(f, "%s/journal", apply_options.journal);
	finding_next(f, "perfbox irqbind --verify %s", out_shell_word(a, apply_options.journal));
	out_finding(out, f);
}

static bool is_ours(struct out *out)
{
	if (journal_check_host(&journal) >= 0 || apply_options.is_forced)
		return true;
	out_missing(out, "%s: %s", apply_options.journal,
		    arena_strdup(out_arena(out), fail_text()));
	return false;
}

int verify_look(struct out *out)
{
	struct changes changes = { 0 };

	irqbind.interval_ns = src_frame()->elapsed_ns;
	int err = look_take(out, true);

	if (err < 0 || (irqbind.look_count == 1 && !src_frame()->is_only) || !is_ours(out))
		return err < 0 ? err : 0;
	for (size_t i = 0; i < journal.count; i++)
		check_step(out, i, &changes);
	report_changes(out, &changes);
	out_host(out, "perfbox irqbind --verify  %zu steps, %zu changed%s", journal.count,
		 changes.count, journal.is_applied ? "" : "; the apply did not come to its end");
	return 0;
}

void report_journal(struct out *out)
{
	struct arena *a = out_arena(out);
	struct changes changes = { 0 };

	if (read_journal(apply_options.journal) < 0) {
		out_missing(out, "%s", fail_text());
		return;
	}
	if (!is_ours(out))
		return;
	for (size_t i = 0; i < journal.count; i++) {
		const struct journal_step *s = &journal.steps[i];
		const enum setting_kind kind = setting_kind_of(s->path);
		struct verify_row row = {
			.path = kind == SETTING_RING ? s->path : arena_printf(a, "/%s", s->path),
			.wanted = s->now ? s->now : s->new,
			.value = value_now(a, s->path),
		};

		if (!s->err && !s->is_undone && row.value &&
		    !setting_is_same(kind, row.value, row.wanted))
			add_change(a, &changes, &row);
	}
	report_changes(out, &changes);
}
