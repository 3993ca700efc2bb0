#include "common/kernel/cpumask.h"

#include <errno.h>

#include "common/base/mem.h"
#include "common/base/scan.h"

#define GROUP_BITS 32
#define GROUP_DIGITS 8

void cpumask_and(struct cpumask *m, const struct cpumask *with)
{
	for (unsigned i = 0; i < CPUMASK_WORDS; i++)
		m->words[i] &= with->words[i];
}

void cpumask_or(struct cpumask *m, const struct cpumask *with)
{
	for (unsigned i = 0; i < CPUMASK_WORDS; i++)
		m->words[i] |= with->words[i];
}

void cpumask_remove(struct cpumask *m, const struct cpumask *what)
{
	for (unsigned i = 0; i < CPUMASK_WORDS; i++)
		m->words[i] &= ~what->words[i];
}

bool cpumask_is_empty(const struct cpumask *m)
{
	return cpumask_next(m, 0) == CPUMASK_END;
}

bool cpumask_equals(const struct cpumask *a, const struct cpumask *b)
{
	return !memcmp(a, b, sizeof(*a));
}

bool cpumask_meets(const struct cpumask *a, const struct cpumask *b)
{
	for (unsigned i = 0; i < CPUMASK_WORDS; i++)
		if (a->words[i] & b->words[i])
			return true;
	return false;
}

bool cpumask_is_inside(const struct cpumask *m, const struct cpumask *of)
{
	for (unsigned i = 0; i < CPUMASK_WORDS; i++)
		if (m->words[i] & ~of->words[i])
			return false;
	return true;
}

unsigned cpumask_count(const struct cpumask *m)
{
	unsigned n = 0;

	for (unsigned i = 0; i < CPUMASK_WORDS; i++)
		n += (unsigned)__builtin_popcountll(m->words[i]);
	return n;
}

unsigned cpumask_next(const struct cpumask *m, unsigned from)
{
	for (unsigned i = from / 64; i < CPUMASK_WORDS; i++) {
		uint64_t word = m->words[i];

		if (i == from / 64)
			word &= ~0ull << from % 64;
		if (word)
			return i * 64 + (unsigned)__builtin_ctzll(word);
	}
	return CPUMASK_END;
}

static struct text strip(struct text t)
{
	while (t.len && strchr(" \t\n", t.data[t.len - 1]))
		t.len--;
	return t;
}

static void add_cpu(unsigned cpu, void *arg)
{
	cpumask_set(arg, cpu);
}

int cpumask_parse_list(struct text t, struct cpumask *m)
{
	struct cpumask new = { 0 };

	/* scan_cpu_list's numbers may have blanks before them, the kernel's have not */
	if (scan_cpu_list(t, CPU_MAX, add_cpu, &new) < 0)
		return -EINVAL;
	*m = new;
	return 0;
}

/* From its end, where CPU 0 is. */
int cpumask_parse_hex(struct text t, struct cpumask *m)
{
	struct cpumask new = { 0 };
	unsigned group = 0, digits = 0;

	t = strip(t);
	while (t.len--) {
		const char c = t.data[t.len];
		const int digit = scan_hex_digit(c);

		if (c == ',' && digits) {
			group++;
			digits = 0;
			continue;
		}
		if (digit < 0 || digits == GROUP_DIGITS)
			return -EINVAL;
		const unsigned bit = group * GROUP_BITS + digits++ * 4;

		if (bit >= CPU_MAX && digit)
			return -EINVAL;
		if (bit < CPU_MAX)
			new.words[bit / 64] |= (uint64_t)digit << bit % 64;
	}
	if (!digits)
		return -EINVAL;
	*m = new;
	return 0;
}

void cpumask_add_list(struct buf *to, const struct cpumask *m)
{
	const char *comma = "";
	unsigned cpu = cpumask_next(m, 0);

	while (cpu < CPUMASK_END) {
		unsigned last = cpu;

		while (cpumask_has(m, last + 1))
			last++;
		buf_printf(to, last > cpu ? "%s%u-%u" : "%s%u", comma, cpu, last);
		comma = ",";
		cpu = cpumask_next(m, last + 1);
	}
}

static unsigned highest(const struct cpumask *m)
{
	for (unsigned i = CPUMASK_WORDS; i-- > 0;)
		if (m->words[i])
			return i * 64 + 63 - (unsigned)__builtin_clzll(m->words[i]);
	return 0;
}

void cpumask_add_hex(struct buf *to, const struct cpumask *m, unsigned cpus)
{
	const unsigned top = highest(m) + 1;
	const unsigned bits = cpus > top ? cpus : top;
	unsigned group = (bits - 1) / GROUP_BITS;
	unsigned digits = cpus ? (bits - group * GROUP_BITS + 3) / 4 : 1;

	for (bool is_first = true;; is_first = false, digits = GROUP_DIGITS) {
		const uint32_t word = (uint32_t)(m->words[group / 2] >> group % 2 * GROUP_BITS);

		buf_printf(to, "%s%0*x", is_first ? "" : ",", (int)digits, word);
		if (!group--)
			return;
	}
}

const char *cpumask_list_text(struct arena *a, const struct cpumask *m)
{
	struct buf b = { 0 };

	cpumask_add_list(&b, m);
	const char *text = arena_text(a, buf_text(&b));

	buf_free(&b);
	return text;
}

const char *cpumask_hex_text(struct arena *a, const struct cpumask *m, unsigned cpus)
{
	struct buf b = { 0 };

	cpumask_add_hex(&b, m, cpus);
	const char *text = arena_text(a, buf_text(&b));

	buf_free(&b);
	return text;
}
