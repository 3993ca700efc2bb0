/* The ledger's first engine: books in the kernel, and what they grew since the look before. */
#include <stdlib.h>
#include <string.h>

#include "applets/offcpu/ledger.h"
#include "common/base/hash.h"
#include "common/base/na.h"
#include "common/kernel/source.h"
#include "common/report/redact.h"
#include "common/stack/waitsyscall.h"

#define EXITED_MAX 8192u

static struct ledger_row *before;      /* rows of the look before */
static size_t before_count;
static struct hash by_key;             /* of these: index + 1 */
static struct ledger_counts counts_before;
static bool has_looked;

static uint64_t key_of(const struct ledger_row *r)
{
	const uint64_t key[2] = { r->host_tid, r->start_ns };

	return hash_bytes(key, sizeof(key));
}

static void fill_classes(uint8_t classes[LEDGER_SYSCALLS])
{
	for (uint64_t i = 0; i < LEDGER_SYSCALLS; i++) {
		const struct wait_syscall call = wait_syscall(i);

		classes[i] = call.by_futex ? LEDGER_BY_FUTEX :
			call.by_file ? LEDGER_BY_FILE : (uint8_t)ledger_state_of(call.cause);
	}
}

int ledger_bpf_open(const struct targets *t)
{
	uint8_t classes[LEDGER_SYSCALLS];

	fill_classes(classes);
	has_looked = false;
	return ledger_open(&(struct ledger_options){
		.pids = t->pids.items, .pid_count = t->pids.count,
		.tids = t->tids.items, .tid_count = t->tids.count,
		.inherits = t->inherits,
		.takes_all_new = t->takes_all_new,
		.classes = classes,
		.exited_max = EXITED_MAX,
	});
}

static const struct ledger_row *find_before(const struct ledger_row *r)
{
	const uintptr_t at = (uintptr_t)hash_find_number(&by_key, key_of(r));

	return at ? &before[at - 1] : NULL;
}

static uint64_t less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

static uint64_t shown_id(uint32_t id)
{
	return id ? id : NA_U64;
}

static void add_account(const struct ledger_row *r, struct accounts *to)
{
	static const struct ledger_row nothing;
	const struct ledger_row *b = r->flags & LEDGER_SUM ? NULL : find_before(r);
	const char *comm = arena_copy(src_arena(), r->comm, strnlen(r->comm, sizeof(r->comm)));

	if (!ledger_wants(comm, r->flags & LEDGER_KERNEL))
		return;
	struct account *a = accounts_add(to);

	*a = (struct account){
		.tgid = shown_id(r->tgid),
		.tid = r->flags & LEDGER_SUM ? NA_U64 : shown_id(r->tid),
		.comm = comm,
		.threads = 1,
		.is_kernel = r->flags & LEDGER_KERNEL,
		.has_exited = r->flags & LEDGER_EXITED,
		.wall_ns = less(r->time_ns, b ? b->time_ns : r->opened_ns),
	};
	if (!b)
		b = &nothing;
	if (r->flags & LEDGER_SUM)
		a->wall_ns = 0;
	for (size_t i = 0; i < LEDGER_STATES; i++) {
		a->ns[i] = less(r->ns[i], b->ns[i]);
		a->sleeping_ns += i >= LEDGER_LOCK ? a->ns[i] : 0;
		a->wall_ns += r->flags & LEDGER_SUM ? a->ns[i] : 0;
	}
	a->waiting_ns = a->ns[LEDGER_WOKEN] + a->ns[LEDGER_PREEMPTED] + a->ns[LEDGER_THROTTLED];
	a->queued_ns = r->flags & LEDGER_NICE ? 0 : a->ns[LEDGER_WOKEN] + a->ns[LEDGER_PREEMPTED];
	a->voluntary = less(r->voluntary, b->voluntary);
	a->involuntary = less(r->involuntary, b->involuntary);
	a->major_faults = less(r->major_faults, b->major_faults);
	account_split_run(a, less(r->user_ns, b->user_ns), less(r->system_ns, b->system_ns),
			  r->user_ns, r->system_ns);
}

/* A thread that exits while we read may have been read before that: its last row is the right one. */
static void index_rows(const struct ledger_row *rows, size_t count, struct hash *index)
{
	for (size_t i = 0; i < count; i++)
		if (!(rows[i].flags & LEDGER_SUM))
			*hash_number(index, key_of(&rows[i])) = (void *)(uintptr_t)(i + 1);
}

static void keep(const struct ledger_row *rows, size_t count)
{
	free(before);
	before = mem_alloc((count + 1) * sizeof(*before));
	memcpy(before, rows, count * sizeof(*rows));
	before_count = count;
	hash_reset(&by_key);
	index_rows(before, before_count, &by_key);
}

static void tell_counts(struct out *out, const struct ledger_counts *now)
{
	const struct ledger_counts *b = &counts_before;
	struct arena *a = out_arena(out);

	if (now->repaired > b->repaired)
		out_line(out, "repaired",
			 "%s switches that were not reported: the scheduler's stamps stand in",
			 human_count_u64(a, now->repaired - b->repaired));
	if (now->unsure > b->unsure)
		out_line(out, "unsure", "%s waits changed CPU: what of them was quota is not known",
			 human_count_u64(a, now->unsure - b->unsure));
	if (now->summed > b->summed)
		out_line(out, "summed", "%s threads that exited are told by process",
			 human_count_u64(a, now->summed - b->summed));
	if (now->lost > b->lost)
		out_missing(out, "%s threads that exited are not told: no room",
			    human_count_u64(a, now->lost - b->lost));
	if (now->unseen > b->unseen)
		out_missing(out, "%s threads are not told: no memory for their books",
			    human_count_u64(a, now->unseen - b->unseen));
}

int ledger_bpf_read(struct out *out, struct accounts *to)
{
	const struct ledger_row *rows;
	const struct ledger_counts *counts;
	struct hash latest = { 0 };
	size_t count;
	int err = ledger_read(&rows, &count, &counts);

	if (err < 0)
		return err;
	index_rows(rows, count, &latest);
	for (size_t i = 0; has_looked && i < count; i++)
		if (rows[i].flags & LEDGER_SUM ||
		    (uintptr_t)hash_find_number(&latest, key_of(&rows[i])) == i + 1)
			add_account(&rows[i], to);
	hash_free(&latest);
	if (has_looked)
		tell_counts(out, counts);
	counts_before = *counts;
	has_looked = true;
	keep(rows, count);
	return 0;
}

void ledger_bpf_close(void)
{
	ledger_close();
	free(before);
	before = NULL;
	before_count = 0;
	hash_free(&by_key);
	counts_before = (struct ledger_counts){ 0 };
}
