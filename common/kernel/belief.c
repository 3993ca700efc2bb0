/* From what was asked and what can be seen to what a process may take. */
#include <math.h>

#include "common/kernel/belief_impl.h"

/* What a JVM is taken to need where nothing measured says better. */
#define METASPACE_BYTES (64 * MIB)
#define CODE_BYTES (48 * MIB)
#define JVM_BYTES (32 * MIB)
#define STACK_BYTES MIB                /* ThreadStackSize on 64-bit Linux */

#define LEAST_HEAP_BYTES 130862280     /* MaxHeapSize's default, 96M scaled for 64 bits */
#define HEAP_ALIGNMENT (2 * MIB)
#define LEAST_INITIAL_BYTES (8 * MIB)
#define DEFAULT_MAX_RAM (128 * GIB)
/* 32G less HeapBaseMinAddress and one alignment: max_heap_for_compressed_oops */
#define COMPRESSED_HEAP_MAX 32178700288
#define SHARES_PER_CPU 1024

const char *belief_kind_name(enum belief_kind kind)
{
	static const char *const names[] = { NULL, "jvm", "node", "go" };

	return names[kind];
}

const char *belief_version_text(struct arena *a, enum belief_kind kind, struct belief_version v)
{
	if (!v.feature)
		return NULL;
	if (kind == BELIEF_JVM && v.feature == 8)
		return arena_printf(a, "8u%u", v.update);
	if (kind == BELIEF_JVM)
		return v.update ? arena_printf(a, "%u.0.%u", v.feature, v.update)
				: arena_printf(a, "%u", v.feature);
	return arena_printf(a, "%u.%u", v.feature, v.update);
}

bool belief_is_at_least(struct belief_version v, unsigned feature, unsigned update)
{
	return v.feature > feature || (v.feature == feature && v.update >= update);
}

const char *belief_size_text(struct arena *a, uint64_t bytes)
{
	static const char units[] = "BKMGTPE";
	unsigned unit = 0;

	while (unit + 1 < sizeof(units) - 1 && bytes >> (10 * (unit + 1)))
		unit++;
	double value = ldexp((double)bytes, -10 * (int)unit);

	/* 1024M reads better than 1.0G only when it is not whole */
	if (value == floor(value) || value >= 100)
		return arena_printf(a, "%.0f%c", value, units[unit]);
	return arena_printf(a, "%.1f%c", value, units[unit]);
}

const char *belief_seen_text(struct arena *a, uint64_t bytes, bool is_host)
{
	return arena_printf(a, is_host ? "the host's %s" : "the %s limit",
			    belief_size_text(a, bytes));
}

uint64_t belief_seen_bytes(uint64_t limit_bytes, uint64_t host_bytes, bool *is_host)
{
	if (limit_bytes == NA_U64 || (limit_bytes == MEMCG_NONE && host_bytes == NA_U64))
		return NA_U64;
	*is_host = limit_bytes == MEMCG_NONE || limit_bytes >= host_bytes;
	return *is_host ? host_bytes : limit_bytes;
}

/* ---- JVM ---- */

static bool is_container_aware(const struct belief_options *o)
{
	return o->jvm.uses_container != 0 && o->version.feature != 9 &&
		belief_is_at_least(o->version, 8, 191);
}

static bool knows_v2(struct belief_version v)
{
	return v.feature >= 15 || (v.feature == 11 && v.update >= 16) ||
		(v.feature == 8 && v.update >= 372);
}

static bool knows_v2_ancestors(struct belief_version v)
{
	return v.feature >= 24 || (v.feature == 21 && v.update >= 9);
}

/* Whether it goes by its control group at all. */
static bool reads_cgroup(const struct belief_options *o, const struct belief_view *v)
{
	return is_container_aware(o) &&
		(v->cgroup_version == 1 || (v->cgroup_version == 2 && knows_v2(o->version)));
}

static bool has_old_switch(const struct belief_options *o)
{
	return o->jvm.uses_cgroup_limit &&
		(o->version.feature == 9 ||
		 (o->version.feature == 8 && o->version.update >= 131 && o->version.update < 191));
}

/* The memory it sees; NA_U64 unknown. */
static uint64_t jvm_sees(const struct belief_options *o, const struct belief_view *v, bool *is_host)
{
	*is_host = false;
	if (o->jvm.max_ram_bytes != NA_U64)
		return o->jvm.max_ram_bytes;
	if (!o->version.feature)
		return NA_U64;
	uint64_t limit = MEMCG_NONE;

	if (reads_cgroup(o, v))
		limit = v->cgroup_version == 2 && !knows_v2_ancestors(o->version) ?
			v->own_limit_bytes : v->least_limit_bytes;
	else if (has_old_switch(o) && v->cgroup_version == 1)
		limit = v->own_limit_bytes;
	return belief_seen_bytes(limit, v->host_bytes, is_host);
}

/* One of the percentages, the fraction that was there before it, or the default. */
static double percent_of(double percent, uint64_t fraction, double usual)
{
	if (!isnan(percent))
		return percent;
	return fraction != NA_U64 && fraction ? 100.0 / (double)fraction : usual;
}

static uint64_t share_of(uint64_t bytes, double percent)
{
	return (uint64_t)((double)bytes * percent / 100);
}

static uint64_t align_heap(uint64_t bytes)
{
	return (bytes + HEAP_ALIGNMENT - 1) / HEAP_ALIGNMENT * HEAP_ALIGNMENT;
}

static const char *share_text(struct arena *a, const struct jvm_flags *f, bool is_small)
{
	const char *end = is_small ? "Min" : "Max";
	double percent = is_small ? f->min_percent : f->max_percent;
	uint64_t fraction = is_small ? f->min_fraction : f->max_fraction;

	if (!isnan(percent))
		return arena_printf(a, "%sRAMPercentage=%g of", end, percent);
	if (fraction != NA_U64 && fraction)
		return arena_printf(a, "%sRAMFraction=%llu of", end, (unsigned long long)fraction);
	return is_small ? "half of" : "a quarter of";
}

static const char *jvm_source(struct arena *a, const struct jvm_flags *f, const struct belief *b,
			      bool is_small)
{
	const char *seen = f->max_ram_bytes != NA_U64 ?
		arena_printf(a, "MaxRAM=%s", belief_size_text(a, b->sees_bytes)) :
		belief_seen_text(a, b->sees_bytes, b->sees_host);

	return arena_printf(a, "%s %s", share_text(a, f, is_small), seen);
}

static bool has_share_flag(const struct jvm_flags *f)
{
	return !isnan(f->max_percent) || !isnan(f->min_percent) || !isnan(f->initial_percent) ||
		f->max_fraction != NA_U64 || f->min_fraction != NA_U64 ||
		f->initial_fraction != NA_U64 || f->max_ram_bytes != NA_U64;
}

/* Arguments::set_heap_size */
static void make_default_heap(struct arena *a, const struct belief_options *o, struct belief *b)
{
	const struct jvm_flags *f = &o->jvm;
	bool is_capped = !has_share_flag(f);
	uint64_t sees = b->sees_bytes;

	if (sees == NA_U64)
		return;
	if (is_capped && sees > DEFAULT_MAX_RAM)
		sees = DEFAULT_MAX_RAM;
	uint64_t least = share_of(sees, percent_of(f->min_percent, f->min_fraction, 50));
	uint64_t most = share_of(sees, percent_of(f->max_percent, f->max_fraction, 25));
	bool is_small = least < LEAST_HEAP_BYTES;

	b->heap_source = jvm_source(a, f, b, is_small);
	if (is_small) {
		most = least;
	} else if (most < LEAST_HEAP_BYTES) {
		most = LEAST_HEAP_BYTES;
		b->heap_source = "the least default";
		b->sees_host = false;
	}
	if (is_capped && most > COMPRESSED_HEAP_MAX) {
		most = COMPRESSED_HEAP_MAX;
		b->heap_source = arena_printf(a, "%s, below 32G", b->heap_source);
	}
	b->is_heap_asked = !is_capped && !b->sees_host;
	if (f->initial_heap_bytes != NA_U64 && f->initial_heap_bytes > most) {
		most = f->initial_heap_bytes;
		b->heap_source = "its initial size";
		b->sees_host = false;
		b->is_heap_asked = true;
	}
	b->heap_bytes = align_heap(most);
}

static void make_jvm_heap(struct arena *a, const struct belief_options *o,
			  const struct belief_view *v, struct belief *b)
{
	const struct jvm_flags *f = &o->jvm;

	if (!o->is_other_jvm)
		b->sees_bytes = jvm_sees(o, v, &b->sees_host);
	if (f->is_incomplete)
		return;
	b->is_heap_sure = o->has_environment || f->max_heap_bytes != NA_U64;
	if (f->max_heap_bytes != NA_U64) {
		b->heap_bytes = f->max_heap_bytes;
		b->heap_source = arena_strdup(a, f->heap_option);
		b->is_heap_asked = true;
		b->sees_host = false;
	} else if (!o->is_other_jvm) {
		make_default_heap(a, o, b);
	}
	b->initial_heap_bytes = f->initial_heap_bytes;
	if (b->initial_heap_bytes == NA_U64 && b->sees_bytes != NA_U64)
		b->initial_heap_bytes = share_of(b->sees_bytes,
						 percent_of(f->initial_percent,
							    f->initial_fraction, 100.0 / 64));
	if (b->initial_heap_bytes == NA_U64 || b->heap_bytes == NA_U64)
		return;
	if (b->initial_heap_bytes < LEAST_INITIAL_BYTES && f->initial_heap_bytes == NA_U64)
		b->initial_heap_bytes = LEAST_INITIAL_BYTES;
	if (b->initial_heap_bytes > b->heap_bytes)
		b->initial_heap_bytes = b->heap_bytes;
}

static const char *why_jvm_sees_host(struct arena *a, const struct belief_options *o,
				     const struct belief_view *v)
{
	const char *name = belief_version_text(a, BELIEF_JVM, o->version);

	if (!v->cgroup_version)
		return NULL;
	if (o->jvm.uses_container == 0)
		return "-XX:-UseContainerSupport";
	if (!is_container_aware(o))
		return arena_printf(a, "%s does not read control groups, 8u191 and 10 do", name);
	if (!reads_cgroup(o, v))
		return arena_printf(a, "%s does not read cgroup v2, 8u372, 11.0.16 and 15 do",
				    name);
	return arena_printf(a, "%s reads its own group's limit, 21.0.9 and 24 also its ancestors'",
			    name);
}

/* What the JVM itself says its heap may become; the options explain it if they come to the same. */
static void correct_heap(const struct belief_perfdata *p, struct belief *b)
{
	if (!p || p->heap_max_bytes == NA_U64)
		return;
	uint64_t here = align_heap(p->heap_max_bytes);
	bool is_explained = b->heap_bytes != NA_U64 &&
		/* collectors round it to their regions */
		here + here / 64 + HEAP_ALIGNMENT >= b->heap_bytes &&
		b->heap_bytes + b->heap_bytes / 64 + HEAP_ALIGNMENT >= here;

	b->heap_bytes = p->heap_max_bytes;
	b->is_heap_sure = true;
	if (is_explained)
		return;
	b->heap_source = "as its hsperfdata says";
	b->sees_host = false;
	b->is_heap_asked = false;
}

/* v2's cpu.weight as the JVM turns it into shares; -1 there is NA_U64 here: it does not count. */
static uint64_t shares_of_weight(uint64_t weight)
{
	if (weight == 100)
		return NA_U64;
	uint64_t x = (262142 * weight - 1) / 9999 + 2;

	if (x <= SHARES_PER_CPU)
		return SHARES_PER_CPU;
	return (x + SHARES_PER_CPU / 2 - 1) / SHARES_PER_CPU * SHARES_PER_CPU;
}

static bool counts_shares(struct belief_version v)
{
	return v.feature < 11 || (v.feature == 11 && v.update < 17) ||
		(v.feature > 11 && v.feature < 17) || (v.feature == 17 && v.update < 5) ||
		(v.feature == 18 && v.update < 2);
}

static double jvm_cpus(const struct belief_options *o, const struct belief_view *v)
{
	double cpus = v->allowed_cpus ? v->allowed_cpus : NA_F64, limit = NA_F64;
	uint64_t shares = v->shares;

	if (o->jvm.cpus != NA_U64)
		return (double)o->jvm.cpus;
	if (!o->version.feature || !o->has_environment || isnan(cpus))
		return NA_F64;
	if (!reads_cgroup(o, v))
		return cpus;
	bool sees_all = v->cgroup_version == 2 && knows_v2_ancestors(o->version);
	double quota = sees_all ? v->least_quota_cpus : v->own_quota_cpus;

	if (isnan(quota))
		return NA_F64;
	if (shares != NA_U64)
		shares = v->has_weight ? shares_of_weight(shares) :
			shares == SHARES_PER_CPU ? NA_U64 : shares;
	if (!isinf(quota))
		limit = ceil(quota);
	else if (counts_shares(o->version) && shares != NA_U64)
		limit = ceil((double)shares / SHARES_PER_CPU);
	return !isnan(limit) && limit < cpus ? (limit < 1 ? 1 : limit) : cpus;
}

static uint64_t at_most(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void state_jvm_parts(const struct belief_options *o, const struct belief_view *v,
			    const struct belief_perfdata *p, struct belief *b)
{
	const struct jvm_flags *f = &o->jvm;
	uint64_t stack = f->stack_bytes == NA_U64 || !f->stack_bytes ? STACK_BYTES : f->stack_bytes;

	/* NA_U64 is larger than any */
	b->metaspace_bytes = at_most(f->metaspace_bytes, METASPACE_BYTES);
	b->code_bytes = at_most(f->code_cache_bytes, CODE_BYTES);
	if (p && p->metaspace_used_bytes != NA_U64 && p->metaspace_used_bytes > b->metaspace_bytes)
		b->metaspace_bytes = p->metaspace_used_bytes;
	b->direct_bytes = f->direct_bytes == NA_U64 ? 0 : f->direct_bytes;
	b->stacks_bytes = v->threads == NA_U64 || stack > GIB ? 0 : v->threads * stack;
	b->other_bytes = JVM_BYTES;
}

/* ---- all ---- */

/* Anonymous memory that is certainly not heap. */
static uint64_t measure_least(const struct belief_measured *m)
{
	const struct belief_perfdata *p = m->perfdata;
	uint64_t least = LEAST_NONHEAP_BYTES;

	if (!p)
		return least;
	if (m->anon_bytes != NA_U64 && p->heap_committed_bytes != NA_U64 &&
	    m->anon_bytes > p->heap_committed_bytes + least)
		least = m->anon_bytes - p->heap_committed_bytes;
	uint64_t used = p->metaspace_used_bytes == NA_U64 ? 0 : p->metaspace_used_bytes;

	if (p->code_used_bytes != NA_U64)
		used += p->code_used_bytes;
	return used > least && used < m->anon_bytes ? used : least;
}

static void add_nonheap(const struct belief_measured *m, struct belief *b)
{
	uint64_t least = measure_least(m);

	b->is_nonheap_measured = m->anon_bytes != NA_U64 && m->heap_resident_bytes != NA_U64 &&
		m->anon_bytes >= m->heap_resident_bytes;
	if (b->is_nonheap_measured) {
		b->nonheap_bytes = m->anon_bytes - m->heap_resident_bytes;
		if (b->nonheap_bytes > least)
			least = b->nonheap_bytes;
	} else {
		b->nonheap_bytes = b->metaspace_bytes + b->code_bytes + b->stacks_bytes +
			b->direct_bytes + b->other_bytes;
		if (b->nonheap_bytes < least)
			b->nonheap_bytes = least;
	}
	if (b->heap_bytes == NA_U64 || b->heap_bytes > NA_U64 / 2)
		return;
	b->need_bytes = b->heap_bytes + b->nonheap_bytes;
	if (b->certain_bytes == NA_U64)
		b->certain_bytes = b->heap_bytes + least;
}

static const char *part(struct arena *a, const char *sum, const char *name, uint64_t bytes)
{
	return bytes ? arena_printf(a, "%s + %s %s", sum, name, belief_size_text(a, bytes)) : sum;
}

static const char *spell_sum(struct arena *a, const struct belief_view *v, const struct belief *b)
{
	if (b->need_bytes == NA_U64)
		return NULL;
	const char *sum = arena_printf(a, "heap %s (%s)", belief_size_text(a, b->heap_bytes),
				       b->heap_source);

	if (b->is_nonheap_measured) {
		sum = part(a, sum, "measured non-heap", b->nonheap_bytes);
	} else {
		sum = part(a, sum, "metaspace", b->metaspace_bytes);
		sum = part(a, sum, "code cache", b->code_bytes);
		if (b->stacks_bytes)
			sum = arena_printf(a, "%s + %llu threads x %s", sum,
					   (unsigned long long)v->threads,
					   belief_size_text(a, b->stacks_bytes / v->threads));
		sum = part(a, sum, "direct", b->direct_bytes);
		sum = part(a, sum, "the runtime", b->other_bytes);
	}
	return arena_printf(a, "%s = %s", sum, belief_size_text(a, b->need_bytes));
}

static uint64_t arena_space(const struct belief_options *o, const struct belief_view *v)
{
	uint64_t most = o->arenas != NA_U64 && o->arenas ? o->arenas : 8 * v->allowed_cpus;

	if (!most || v->threads == NA_U64)
		return NA_U64;
	return at_most(at_most(most, v->threads), 1u << 20) * 64 * MIB;
}

void belief_make(struct arena *arena, const struct belief_options *o, const struct belief_view *v,
		 const struct belief_measured *m, struct belief *belief)
{
	struct belief b = {
		.sees_bytes = NA_U64, .heap_bytes = NA_U64, .initial_heap_bytes = NA_U64,
		.nonheap_bytes = NA_U64, .need_bytes = NA_U64, .certain_bytes = NA_U64,
		.cpus = NA_F64, .arena_space_bytes = NA_U64,
	};

	switch (o->kind) {
	case BELIEF_JVM:
		make_jvm_heap(arena, o, v, &b);
		correct_heap(m->perfdata, &b);
		if (b.sees_host)
			b.why_host = why_jvm_sees_host(arena, o, v);
		state_jvm_parts(o, v, m->perfdata, &b);
		add_nonheap(m, &b);
		b.cpus = jvm_cpus(o, v);
		break;
	case BELIEF_NODE:
		belief_make_node(arena, o, v, &b);
		add_nonheap(m, &b);
		break;
	case BELIEF_GO:
		belief_make_go(arena, o, &b);
		break;
	case BELIEF_OTHER:
		b.arena_space_bytes = arena_space(o, v);
		break;
	}
	if (o->kind == BELIEF_JVM || o->kind == BELIEF_NODE)
		b.sum = spell_sum(arena, v, &b);
	*belief = b;
}

const char *belief_verdict(const struct belief *b, uint64_t limit_bytes)
{
	if (b->need_bytes == NA_U64 || !b->is_heap_sure || limit_bytes == NA_U64 ||
	    limit_bytes == MEMCG_NONE)
		return NULL;
	if (b->certain_bytes != NA_U64 && b->certain_bytes > limit_bytes)
		return "cannot fit";
	return b->need_bytes > limit_bytes - limit_bytes / 10 ? "tight" : "fits";
}
