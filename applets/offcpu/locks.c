/* Futexes that threads waited for: whose, how long, how many at once, and what the holder did. */
#include <stdlib.h>

#include "applets/offcpu/offcpu.h"
#include "common/base/hash.h"
#include "common/base/na.h"
#include "common/report/redact.h"

#define WHERE 6
#define CHAIN_SHOWN 4

struct lock_row {
	const char *address, *comm, *kind, *where, *holder, *holder_cause, *holder_where;
	uint64_t pid, waited_ns, count, waiters, at_once, max_ns;
};

static const struct column lock_columns[] = {
	COL(struct lock_row, waited_ns, "WAITED", ROLE_GAUGE, UNIT_NS, "by all threads together"),
	COL(struct lock_row, count, "COUNT", ROLE_GAUGE, UNIT_COUNT, "times"),
	COL(struct lock_row, waiters, "THREADS", ROLE_GAUGE, UNIT_COUNT, "that waited for it"),
	COL(struct lock_row, at_once, "AT-ONCE", ROLE_GAUGE, UNIT_COUNT, "most that did at a time"),
	COL(struct lock_row, max_ns, "MAX", ROLE_GAUGE, UNIT_NS, "the longest wait"),
	COL(struct lock_row, kind, "KIND", ROLE_TEXT, UNIT_TEXT,
	    "lock: a mutex or rwlock; futex: a condition variable, a join, a parked thread"),
	COL(struct lock_row, address, "ADDRESS", ROLE_KEY, UNIT_TEXT, "of the futex"),
	COL(struct lock_row, pid, "PID", ROLE_KEY, UNIT_ID, "process"),
	COL_NAME(struct lock_row, comm, "COMM", ROLE_TEXT, NAME_COMMAND,
		 "a thread that waited most"),
	COL_NAME(struct lock_row, where, "WHERE", ROLE_TEXT, NAME_PLAIN,
		 "frames of that wait, from the leaf"),
	COL_NAME_IF_ANY(struct lock_row, holder, "WOKEN BY", ROLE_TEXT, NAME_PLAIN,
			"the thread that ended most of the waiting: of a lock its holder"),
	COL_NAME_IF_ANY(struct lock_row, holder_cause, "WHICH WAITED FOR", ROLE_TEXT, NAME_PLAIN,
			"what that one waited for itself meanwhile; empty: it ran"),
	COL_NAME_IF_ANY(struct lock_row, holder_where, "IN", ROLE_TEXT, NAME_PLAIN,
			"frames of that wait, from the leaf"),
};

extern const struct table locks_table;
const struct table locks_table = {
	.name = "locks", .help = "a futex that threads waited for (--locks)", .sort = "-waited_ns",
	.top = true,
	TABLE(struct lock_row, lock_columns),
};

static int by_waited(const void *a, const void *b)
{
	const struct lock_sum *x = a, *y = b;

	if (x->is_lock != y->is_lock)
		return x->is_lock ? -1 : 1;
	if (x->waited_ns != y->waited_ns)
		return x->waited_ns > y->waited_ns ? -1 : 1;
	return x->address < y->address ? -1 : x->address > y->address;
}

/* Which chain ended most of the waiting for each lock. */
static void add_chain(struct lock_sum *l, struct hash *chains, const struct wait_row *r)
{
	const uint64_t key[] = { l->tgid, l->address, r->chain };
	void **slot = hash_number(chains, hash_bytes(key, sizeof(key)));
	const uint64_t ns = (uint64_t)(uintptr_t)*slot + r->sleep_ns;

	*slot = (void *)(uintptr_t)ns;
	if (r->chain && ns > l->chain_ns) {
		l->chain_ns = ns;
		l->chain = r->chain;
	}
}

size_t locks_find(const struct waits *w, struct arena *a, struct lock_sum **locks)
{
	struct lock_sum *list = NULL;
	struct hash known = { 0 }, chains = { 0 }, waiters = { 0 };
	uint64_t *most = mem_alloc((w->row_count + 1) * sizeof(*most));
	size_t count = 0, cap = 0;

	for (size_t i = 0; i < w->row_count; i++) {
		const struct wait_row *r = &w->rows[i];
		const struct wait_thread *t = &w->threads[r->thread];
		const uint64_t key[] = { t->tgid, r->lock };

		if (!(r->flags & WAIT_FUTEX) || !r->state || !targets_want(t))
			continue;
		void **slot = hash_number(&known, hash_bytes(key, sizeof(key)));

		if (!*slot) {
			list = mem_grow(list, &cap, count + 1, sizeof(*list));
			list[count++] = (struct lock_sum){ .tgid = t->tgid, .address = r->lock };
			*slot = (void *)(uintptr_t)count;
		}
		const size_t at = (uintptr_t)*slot - 1;
		struct lock_sum *l = &list[at];
		const uint64_t waiter[] = { t->tgid, r->lock, t->tid };
		void **waits = hash_number(&waiters, hash_bytes(waiter, sizeof(waiter)));

		l->waiters += !*waits;
		*waits = l;
		l->waited_ns += r->sleep_ns;
		l->count += r->count;
		if (l->max_ns < r->max_ns)
			l->max_ns = r->max_ns;
		if (view_cause(w, r) == CAUSE_LOCK)
			l->is_lock = true;
		if (r->sleep_ns >= most[at]) {
			most[at] = r->sleep_ns;
			l->thread = r->thread;
			l->user = r->user;
		}
		add_chain(l, &chains, r);
	}
	free(most);
	hash_free(&known);
	hash_free(&chains);
	hash_free(&waiters);
	qsort(list, count, sizeof(*list), by_waited);
	*locks = count ? (struct lock_sum *)(void *)arena_copy(a, (char *)list,
							       count * sizeof(*list)) : NULL;
	free(list);
	return count;
}

static uint64_t at_once(const struct waits *w, const struct lock_sum *l)
{
	for (size_t i = 0; i < w->lock_count; i++)
		if (w->locks[i].tgid == l->tgid && w->locks[i].address == l->address)
			return w->locks[i].most;
	return NA_U64;
}

static enum wait_cause holder_cause(const struct waits *w, const struct wait_chain *c)
{
	return view_cause(w, &(struct wait_row){
		.thread = c->thread, .user = c->waited_user, .kernel = c->waited_kernel,
		.state = c->state,
	});
}

static bool has_waited(const struct wait_chain *c)
{
	return c->waited_user || c->waited_kernel;
}

void locks_show(struct out *out, const struct waits *w)
{
	struct arena *a = out_arena(out);
	struct lock_sum *locks;

	if (!window.locks && out_format(out) == OUT_PEOPLE)
		return;
	const size_t count = locks_find(w, a, &locks);

	for (size_t i = 0; i < count; i++) {
		const struct lock_sum *l = &locks[i];
		const struct wait_chain *c = &w->chains[l->chain];
		const bool is_known = l->chain && c->thread, waits = is_known && has_waited(c);

		out_row(out, &locks_table, &(struct lock_row){
			.address = arena_printf(a, "0x%llx", (unsigned long long)l->address),
			.comm = w->threads[l->thread].comm,
			.kind = l->is_lock ? "lock" : "futex",
			.where = view_where(a, w, l->user, WHERE),
			.holder = is_known ? view_thread(a, &w->threads[c->thread]) : NULL,
			.holder_cause = waits ? wait_cause_name(holder_cause(w, c)) : NULL,
			.holder_where = !waits ? NULL :
				view_where(a, w, c->waited_user ? c->waited_user :
								  c->waited_kernel, WHERE),
			.pid = l->tgid, .waited_ns = l->waited_ns, .count = l->count,
			.waiters = l->waiters, .at_once = at_once(w, l), .max_ns = l->max_ns,
		});
	}
}

void chain_tell(struct arena *a, const struct waits *w, uint32_t chain, struct finding *f)
{
	for (unsigned n = 0; chain && n < CHAIN_SHOWN; n++) {
		const struct wait_chain *c = &w->chains[chain];
		const char *who = c->thread ? view_thread(a, &w->threads[c->thread]) :
					      "an interrupt";

		if (!c->thread || !has_waited(c)) {
			finding_line(f, "woken  by %s%s", who, c->thread ? ", which ran" : "");
			return;
		}
		const enum wait_cause cause = holder_cause(w, c);

		finding_line(f, "woken  by %s, which itself waited for %s%s", who,
			     cause == CAUSE_LOCK ? "a " : "", wait_cause_name(cause));
		finding_line(f, "in     %s < %s", view_where(a, w, c->waited_kernel, 3),
			     view_where(a, w, c->waited_user, WHERE));
		if (!n) {
			finding_text(f, "holder", NAME_COMMAND, w->threads[c->thread].comm);
			finding_u64(f, "holder_tid", w->threads[c->thread].tid);
			finding_text(f, "holder_waited_for", NAME_PLAIN, wait_cause_name(cause));
		}
		chain = c->parent;
	}
}
