/* Samples: whose they are, what they weigh, and which addresses make their stack. */
#include "common/stack/perffold.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/base/fail.h"
#include "common/base/na.h"
#include "common/stack/perffold_impl.h"

#define DEFERRED_HEAD 24               /* header, u64 cookie, u64 count */

static void leaving(void *arg, struct process *p)
{
	struct perffold *pf = arg;

	perffold_raw_flush(pf, p);
	if (!p)
		pf->kernel_epoch++;
}

static void mapped(void *arg, struct process *p, const struct process_map *m)
{
	perffold_prepare(arg, p, m);
}

static void kernel_symbol(void *arg, uint64_t address, uint64_t size, struct text name)
{
	symbols_add_ksymbol(((struct perffold *)arg)->options.symbols, address, size, name);
}

struct perffold *perffold_new(struct fold *f, const struct perffold_options *o)
{
	struct perffold *pf = mem_alloc(sizeof(*pf));

	pf->options = *o;
	pf->fold = f;
	if (!o->stack.filter)
		stack_filter_new(&(struct stack_filter_options){ 0 }, f, &pf->own_filter);
	pf->filter = o->stack.filter ? o->stack.filter : pf->own_filter;
	pf->kernel_epoch = 1;
	pf->chain = mem_grow(NULL, &pf->chain_cap, 64, sizeof(*pf->chain));
	pf->processes = processes_new(&(struct process_hooks){
		.arg = pf,
		.leaving = leaving,
		.mapped = o->symbols && o->is_live ? mapped : NULL,
		.kernel_symbol = o->symbols ? kernel_symbol : NULL,
	});
	return pf;
}

struct processes *perffold_processes(struct perffold *pf)
{
	return pf->processes;
}

/* ---- events ---- */

static bool has_period(const struct perf_attr *a)
{
	return (a->sample_type & (FIELD_PERIOD | FIELD_READ)) || (!a->is_frequency && a->period);
}

static size_t event_entry(struct perffold *pf, const struct perf_event *e)
{
	for (size_t i = 0; i < pf->event_count; i++)
		if (!strcmp(pf->events[i].name, e->name))
			return i;
	pf->events = mem_grow(pf->events, &pf->event_cap, pf->event_count + 1,
			      sizeof(*pf->events));
	pf->events[pf->event_count] = (struct perffold_event){
		.name = arena_strdup(&pf->arena, e->name),
		.has_period = has_period(&e->attr),
	};
	return pf->event_count++;
}

/* The first event with samples is folded, or the one that was asked for. */
static void see_event(struct perffold *pf, const struct perf_event *e, struct event_state *state)
{
	const char *asked = pf->options.stack.event;

	state->is_seen = true;
	state->entry = event_entry(pf, e);
	if (!pf->has_folded_event && (!asked || !strcmp(asked, e->name))) {
		pf->has_folded_event = true;
		pf->folded_event = state->entry;
		pf->events[state->entry].is_folded = true;
	}
	state->is_wanted = pf->has_folded_event && pf->folded_event == state->entry;
}

/* Counts a sample of the event; true: it is to be folded. */
static bool count_event(struct perffold *pf, const struct perf_event *e, uint64_t weight)
{
	pf->states = mem_grow(pf->states, &pf->state_cap, e->index + 1, sizeof(*pf->states));
	struct event_state *state = &pf->states[e->index];

	if (!state->is_seen)
		see_event(pf, e, state);
	struct perffold_event *entry = &pf->events[state->entry];

	entry->samples++;
	if (__builtin_add_overflow(entry->weight, weight, &entry->weight))
		entry->weight = UINT64_MAX;
	return state->is_wanted;
}

/* ---- user parts that come later ---- */

static void finish_deferred(struct perffold *pf, struct deferred *d, const uint64_t *user,
			    size_t count)
{
	struct process *p = processes_thread(pf->processes, d->pid, d->tid)->process;

	pf->chain_count = 0;
	for (size_t i = 0; i < d->count; i++)
		perffold_chain_add(pf, d->chain[i]);
	if (count)
		perffold_chain_add(pf, CONTEXT_USER);
	else
		pf->result.without_user_part++;
	for (size_t i = 0; i < count; i++)
		perffold_chain_add(pf, user[i]);
	if (!count)
		perffold_chain_add(pf, CONTEXT_TRUNCATED);
	perffold_raw_add(pf, p, d->root, pf->chain, pf->chain_count, d->weight);
	free(d->chain);
	*d = (struct deferred){ 0 };
	pf->deferred_waiting--;
}

/* chain[at] is CONTEXT_USER_DEFERRED and its cookie follows. */
static void defer(struct perffold *pf, const struct thread *t, uint32_t root,
		  const uint64_t *chain, size_t at, uint64_t weight)
{
	/* before another one is finished: that uses the same memory */
	uint64_t *own = mem_alloc((at + 2) * sizeof(*own));
	const uint32_t pid = t->process->pid, tid = t->tid;

	memcpy(own, chain, (at + 2) * sizeof(*own));
	if (!pf->deferred)
		pf->deferred = mem_alloc(PERFFOLD_DEFERRED_MAX * sizeof(*pf->deferred));
	struct deferred *d = &pf->deferred[pf->deferred_count++ % PERFFOLD_DEFERRED_MAX];

	if (d->chain)
		finish_deferred(pf, d, NULL, 0);
	*d = (struct deferred){ .cookie = own[at + 1], .weight = weight, .pid = pid, .tid = tid,
				.root = root, .count = at, .chain = own };
	pf->deferred_waiting++;
}

static void take_deferred(struct perffold *pf, const struct perf_events *es,
			  const struct perf_record *r)
{
	struct perf_identity i;
	uint32_t trailer;

	perf_record_identity(es, r, &i, &trailer);
	if (r->size - trailer < DEFERRED_HEAD || !pf->deferred)
		return;
	const uint64_t cookie = perf_u64(r->bytes + 8), told = perf_u64(r->bytes + 16);
	const uint64_t room = (r->size - trailer - DEFERRED_HEAD) / 8;
	const uint64_t *user = (const uint64_t *)(const void *)(r->bytes + DEFERRED_HEAD);

	/* the newest first, and no further than there are any */
	for (size_t n = 1, seen = 0, waiting = pf->deferred_waiting;
	     n <= PERFFOLD_DEFERRED_MAX && seen < waiting; n++) {
		struct deferred *d = &pf->deferred[(pf->deferred_count - n) %
						   PERFFOLD_DEFERRED_MAX];

		seen += d->chain != NULL;
		if (d->chain && d->cookie == cookie && (i.tid == NA_U64 || i.tid == d->tid))
			finish_deferred(pf, d, user, (size_t)(told < room ? told : room));
	}
}

/* ---- samples ---- */

static struct text number(char *digits, size_t size, uint64_t v)
{
	const int n = v == NA_U64 ? 0 : snprintf(digits, size, "%d", (int)v);

	return (struct text){ digits, (size_t)n };
}

static uint32_t root_of(struct perffold *pf, struct thread *t, const struct perf_sample *s)
{
	const enum root_frame by = stack_filter_by(pf->filter);
	const bool is_of_thread = by != ROOT_CPU && by != ROOT_CGROUP;
	char pid[16], tid[16], cpu[16];

	if (is_of_thread && t->root)
		return t->root;
	const char *cgroup = processes_cgroup(pf->processes, s->cgroup);
	const uint32_t root = stack_filter_root(pf->filter, &(struct stack_task){
		.comm = text_of(t->comm),
		.pid = number(pid, sizeof(pid), s->pid),
		.tid = number(tid, sizeof(tid), s->tid),
		.cpu = number(cpu, sizeof(cpu), s->cpu),
		.cgroup = text_of(cgroup ? cgroup : ""),
	});

	if (is_of_thread)
		t->root = root;
	return root;
}

static void fold_sample(struct perffold *pf, const struct perf_sample *s, uint64_t weight)
{
	struct thread *t = processes_thread(pf->processes, (uint32_t)s->pid, (uint32_t)s->tid);
	const uint32_t root = root_of(pf, t, s);
	const uint64_t *chain;
	size_t count;

	perffold_chain(pf, t->process, s, &chain, &count);
	for (size_t i = 0; i + 1 < count; i++) {
		if (chain[i] == CONTEXT_USER_DEFERRED) {
			defer(pf, t, root, chain, i, weight);
			return;
		}
	}
	perffold_raw_add(pf, t->process, root, chain, count, weight);
}

static void count_sample(struct perffold *pf, const struct perf_event *e, struct perf_sample *s,
			 uint64_t period)
{
	const bool weighs = has_period(&e->attr) && !pf->options.stack.weighs_samples;
	const uint64_t weight = weighs ? period : 1;
	const double time = s->time == NA_U64 ? NA_F64 : (double)s->time / 1e9;

	if (count_event(pf, e, weight) && stack_filter_wants(pf->filter, time, s->cpu))
		fold_sample(pf, s, weight);
}

/* How much a counter has grown since its last sample. */
static uint64_t growth(struct perffold *pf, const struct perf_sample *s, struct perf_read now)
{
	uint64_t key = now.id == NA_U64 ? s->id : now.id;

	/* one counter of many threads: each has its own value */
	if (s->event->attr.is_inherited && s->tid != NA_U64)
		key = hash_keyed(key, &s->tid, sizeof(s->tid));
	void **last = hash_number(&pf->last_reads, key);
	const uint64_t before = (uint64_t)(uintptr_t)*last;

	*last = (void *)(uintptr_t)now.value;
	return now.value - before;
}

/* A group's leader samples for all: each member has its own count in the READ field. */
static void take_reads(struct perffold *pf, const struct perf_events *es, struct perf_sample *s)
{
	for (size_t i = 0; i < s->read_count; i++) {
		const struct perf_read value = perf_sample_read(s, i);
		const struct perf_event *e = value.id == NA_U64 ? s->event :
						      perf_events_find(es, value.id);
		const uint64_t grown = growth(pf, s, value);

		if (!e)
			pf->result.without_event++;
		else if (grown)
			count_sample(pf, e, s, grown);
	}
}

static void take_sample(struct perffold *pf, const struct perf_events *es,
			const struct perf_record *r)
{
	const struct perf_event *e = perf_record_event(es, r);
	struct perf_sample s;

	if (!e) {
		pf->result.without_event++;
		return;
	}
	if (perf_sample_decode(e, r, &s)) {
		if (!pf->result.damaged++)
			pf->result.damage = arena_strdup(&pf->arena, fail_text());
		return;
	}
	if (e->attr.sample_type & FIELD_READ)
		take_reads(pf, es, &s);
	else
		count_sample(pf, e, &s, s.period != NA_U64 ? s.period : e->attr.period);
}

void perffold_take(struct perffold *pf, const struct perf_events *es, const struct perf_record *r)
{
	if (r->type == RECORD_SAMPLE)
		take_sample(pf, es, r);
	else if (r->type == RECORD_CALLCHAIN_DEFERRED)
		take_deferred(pf, es, r);
	else
		processes_take(pf->processes, es, r);
}

struct perffold *perffold_recording(struct perfdata *d, struct fold *f,
				    const struct perffold_options *o)
{
	struct perffold_options mine = *o;
	const struct perf_event *first = o->stack.event ? NULL : perfdata_first_event(d);
	struct perf_record r;

	if (first)
		mine.stack.event = first->name;
	if (!mine.facts)
		mine.facts = perfdata_facts(d);
	struct perffold *pf = perffold_new(f, &mine);

	while (perfdata_next(d, &r))
		perffold_take(pf, perfdata_events(d), &r);
	return pf;
}

void perffold_flush(struct perffold *pf)
{
	perffold_raw_flush(pf, NULL);
}

const struct perffold_result *perffold_end(struct perffold *pf)
{
	for (size_t i = 0; pf->deferred && i < PERFFOLD_DEFERRED_MAX; i++)
		if (pf->deferred[i].chain)
			finish_deferred(pf, &pf->deferred[i], NULL, 0);
	perffold_flush(pf);
	pf->result.events = pf->events;
	pf->result.event_count = pf->event_count;
	pf->result.counts = processes_counts(pf->processes);
	return &pf->result;
}

void perffold_free(struct perffold *pf)
{
	if (!pf)
		return;
	for (size_t i = 0; pf->deferred && i < PERFFOLD_DEFERRED_MAX; i++)
		free(pf->deferred[i].chain);
	free(pf->deferred);
	processes_free(pf->processes);
	stack_filter_free(pf->own_filter);
	arena_free(&pf->raw.arena);
	free(pf->raw.slots);
	free(pf->cache.slots);
	free(pf->cache.names);
	hash_free(&pf->build_ids);
	hash_free(&pf->last_reads);
	free(pf->names);
	free(pf->chain);
	free(pf->states);
	free(pf->events);
	arena_free(&pf->arena);
	free(pf);
}
