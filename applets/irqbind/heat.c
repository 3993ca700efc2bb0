/* A picture of which queue interrupts which CPU: people look at it before they read. */
#include "applets/irqbind/irqbind.h"

struct heat_row {
	const char *interface, *queue, *heat;
};

static const struct column heat_columns[] = {
	COL(struct heat_row, interface, "INTERFACE", ROLE_KEY, UNIT_TEXT, "name"),
	COL(struct heat_row, queue, "QUEUE", ROLE_KEY, UNIT_TEXT, "as in queues"),
	COL(struct heat_row, heat, "INTERRUPTS BY CPU", ROLE_TEXT, UNIT_TEXT,
	    "a character per CPU, above 64 per 2, 3 or more: . none, 1 to 9 ninths of the most"),
};

const struct table irqbind_heat_table = { .name = "heat",
					 .help = "where a queue's interrupts came in",
					 TABLE(struct heat_row, heat_columns),
					 .top = true };

#define WIDTH 64                       /* characters; with more CPUs each stands for several */
#define STEP 8                         /* of the ruler */

static unsigned cpus_per_cell(void)
{
	return (irqbind.topo.limit + WIDTH - 1) / WIDTH;
}

static unsigned cell_count(void)
{
	return (irqbind.topo.limit + cpus_per_cell() - 1) / cpus_per_cell();
}

/* Interrupts of that line on the CPUs of a cell; NA_U64. */
static uint64_t cell(uint32_t irq, unsigned at)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < cpus_per_cell(); i++) {
		const unsigned cpu = at * cpus_per_cell() + i;

		if (cpu < irqbind.topo.limit)
			sum = sum_u64(sum, irq_delta(irq, cpu));
	}
	return sum;
}

static uint64_t most_of_all(const struct look *l)
{
	uint64_t most = 0;

	for (size_t i = 0; i < l->nic_count; i++)
		for (size_t k = 0; k < l->nics[i].irq_count; k++)
			for (unsigned at = 0; at < cell_count(); at++) {
				const uint64_t n = cell(l->nics[i].irqs[k].irq.number, at);

				if (n != NA_U64 && n > most)
					most = n;
			}
	return most;
}

/* "0       8       16": which CPU stands where. */
static const char *ruler(struct arena *a)
{
	struct buf b = { 0 };

	for (unsigned at = 0; at < cell_count(); at += STEP)
		buf_printf(&b, "%-*u", STEP, at * cpus_per_cell());
	while (b.len && b.data[b.len - 1] == ' ')
		b.len--;
	const char *text = arena_text(a, buf_text(&b));

	buf_free(&b);
	return text;
}

static const char *heat_of(struct arena *a, uint32_t irq, uint64_t most)
{
	const unsigned cells = cell_count();
	char *heat = arena_alloc(a, cells + 1);

	for (unsigned at = 0; at < cells; at++) {
		const uint64_t n = cell(irq, at);

		heat[at] = n == NA_U64 ? '?' : !n ? '.' : (char)('0' + (n * 9 + most - 1) / most);
	}
	return heat;
}

void show_heat(struct out *out)
{
	struct arena *a = out_arena(out);
	const struct look *l = look_now();
	const uint64_t most = most_of_all(l);
	struct heat_row row = { .interface = "", .queue = "", .heat = ruler(a) };

	/* on one CPU there is nothing to see */
	if (!most || irqbind.topo.limit < 2)
		return;
	out_row(out, &irqbind_heat_table, &row);
	for (size_t i = 0; i < l->nic_count; i++)
		for (size_t k = 0; k < l->nics[i].irq_count; k++) {
			const struct nic_irq *q = &l->nics[i].irqs[k];

			row = (struct heat_row){ l->nics[i].name, irq_role_text(a, &q->role),
						 heat_of(a, q->irq.number, most) };
			if (irq_delta_all(q->irq.number, NULL))
				out_row(out, &irqbind_heat_table, &row);
		}
}
