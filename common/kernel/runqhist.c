#include "common/kernel/runqhist.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/base/fail.h"
#include "common/base/hash.h"
#include "common/base/na.h"
#include "common/base/scan.h"
#include "common/kernel/bpf.h"
#include "common/kernel/pids.h"
#include "common/kernel/source.h"
#include "runqhist.skel.h"

#define LINE_NUMBERS 11
#define LINE_LEAST 53 /* bytes: ten numbers of a digit, 32 digits of name, blanks, newline */
#define COMM_DIGITS 32
#define KEYS_MAX 65536                 /* 1.4 KiB of kernel memory each */
#define KEYS_SPARE 2048
#define NAMES_MAX 4096
#define GROUPS_MAX 65536
#define ROWS_MAX (2 * KEYS_MAX)        /* those there is room for, and those that only wait */

static struct runqhist_counts counts;

uint64_t runqhist_bucket_low(unsigned bucket)
{
	if (bucket < 8)
		return bucket;
	return (uint64_t)(8 + bucket % 8) << (bucket / 8 - 1);
}

uint64_t runqhist_quantile(const struct runqhist_row *row, double share)
{
	uint64_t all = 0, below = 0;

	for (unsigned i = 0; i < RUNQHIST_BUCKETS; i++)
		all += row->buckets[i];
	if (!all)
		return NA_U64;
	const double wanted = ceil(share * (double)all);

	for (unsigned i = 0; i < RUNQHIST_BUCKETS; i++) {
		if ((double)(below + row->buckets[i]) < wanted) {
			below += row->buckets[i];
			continue;
		}
		const double low = (double)runqhist_bucket_low(i),
			     high = (double)runqhist_bucket_low(i + 1),
			     at = low + (high - low) * (wanted - (double)below) / row->buckets[i];

		return at < (double)row->max_ns ? (uint64_t)at : row->max_ns;
	}
	return row->max_ns;
}

static bool scan_comm(struct text word, char comm[16])
{
	if (word.len != COMM_DIGITS)
		return false;
	for (size_t i = 0; i < 16; i++) {
		const int high = scan_hex_digit(word.data[2 * i]),
			  low = scan_hex_digit(word.data[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		comm[i] = (char)(high << 4 | low);
	}
	return true;
}

/* " 12:7 13:1", ascending. */
static bool scan_buckets(struct scan s, uint32_t *buckets)
{
	uint64_t index, n, least = 0;

	while (scan_u64(&s, &index)) {
		if (index < least || index >= RUNQHIST_BUCKETS || !scan_literal(&s, ":") ||
		    !scan_u64(&s, &n) || n > UINT32_MAX)
			return false;
		buckets[index] = (uint32_t)n;
		least = index + 1;
	}
	return !scan_rest(&s).len;
}

static bool scan_row(struct text line, struct arena *arena, struct runqhist_row *row)
{
	struct scan s = scan_of(line);
	struct text comm;
	uint64_t v[LINE_NUMBERS - 1];
	bool is_good = true;

	*row = (struct runqhist_row){ 0 };
	for (size_t i = 0; i < 3 && is_good; i++)
		is_good = scan_u64(&s, &v[i]);
	is_good = is_good && scan_word(&s, &comm) && scan_comm(comm, row->comm);
	for (size_t i = 3; i < LINE_NUMBERS - 1 && is_good; i++)
		is_good = scan_u64(&s, &v[i]);
	if (!is_good || v[1] > UINT32_MAX || v[2] > UINT32_MAX)
		return false;
	row->id = v[0];
	row->tgid = (uint32_t)v[1];
	row->tid = (uint32_t)v[2];
	for (size_t k = 0; k < RUNQHIST_KINDS; k++) {
		row->count[k] = v[3 + 2 * k];
		row->sum_ns[k] = v[4 + 2 * k];
	}
	row->max_ns = v[7];
	row->pending = v[8];
	row->oldest_ns = v[9];
	uint32_t *buckets = arena_alloc(arena, RUNQHIST_BUCKETS * sizeof(*buckets));

	row->buckets = buckets;
	return scan_buckets(s, buckets);
}

static bool scan_counts(struct scan s, struct runqhist_counts *c)
{
	uint64_t v[4];

	for (size_t i = 0; i < 4; i++)
		if (!scan_u64(&s, &v[i]))
			return false;
	*c = (struct runqhist_counts){ v[0], v[1], v[2], v[3] };
	return !scan_rest(&s).len;
}

int runqhist_parse(struct text reply, struct arena *arena, const struct runqhist_row **rows,
		   size_t *count, struct runqhist_counts *c)
{
	struct runqhist_row *r = arena_alloc(arena, (reply.len / LINE_LEAST + 1) * sizeof(*r));
	struct scan s = scan_of(reply);
	struct text line;
	size_t n = 0;

	while (scan_until(&s, '\n', &line)) {
		struct scan last = scan_of(line);

		if (scan_literal(&last, "counts")) {
			if (!scan_counts(last, c))
				break;
			*rows = r;
			*count = n;
			return 0;
		}
		if (n == ROWS_MAX || line.len + 1 < LINE_LEAST || !scan_row(line, arena, &r[n]))
			break;
		n++;
	}
	return fail(EINVAL, "bpf runqhist: line %zu is garbled or missing", n + 1);
}

/* ---- reading the maps ---- */

/* A key seen so far: what stood there at the read before, and who waits now. */
struct entry {
	struct runqhist_key key;
	struct runqhist_value value;
	uint64_t pending, oldest_ns;
	uint32_t tid, tgid;
	char comm[16];
	bool is_idle;                  /* nothing since the read before */
};

static struct runqhist_bpf *program;
static struct runqhist_config config;
static struct runqhist_counts counts_before;
static struct entry **entries;
static size_t entry_count, entry_cap;
static struct hash by_key;             /* hash of a struct runqhist_key -> struct entry */

static struct entry *entry_of(const struct runqhist_key *key)
{
	void **at = hash_number(&by_key, hash_bytes(key, sizeof(*key)));

	if (!*at) {
		struct entry *e = mem_alloc(sizeof(*e));

		e->key = *key;
		entries = mem_grow(entries, &entry_cap, entry_count + 1, sizeof(*entries));
		entries[entry_count++] = e;
		*at = e;
	}
	return *at;
}

static void add_pending(const void *row, void *arg)
{
	const struct runqhist_task *t = row;

	(void)arg;
	if (!t->is_chosen || !t->pending_ns)
		return;
	struct entry *e = entry_of(&t->key);

	if (!e->pending++ || t->pending_ns > e->oldest_ns)
		e->oldest_ns = t->pending_ns;
	if (config.by == RUNQHIST_THREAD || config.by == RUNQHIST_PROCESS) {
		e->tid = t->own_tid;
		e->tgid = t->own_tgid;
		if (config.by == RUNQHIST_THREAD || t->own_tid == t->own_tgid)
			memcpy(e->comm, t->comm, sizeof(e->comm));
	}
}

static void add_buckets(struct buf *to, const struct runqhist_value *now,
			const struct runqhist_value *before)
{
	for (unsigned i = 0; i < RUNQHIST_BUCKETS; i++)
		if (now->buckets[i] != before->buckets[i])
			buf_printf(to, " %u:%" PRIu32, i, now->buckets[i] - before->buckets[i]);
	buf_add_char(to, '\n');
}

/* A row, unless nothing came and nobody waits. turn: of the interval that is over. */
static void add_row(struct buf *to, struct entry *e, const struct runqhist_value *now,
		    uint32_t turn)
{
	const struct runqhist_value *before = &e->value;
	const uint64_t woken = now->count[RUNQHIST_WOKEN] - before->count[RUNQHIST_WOKEN],
		       preempted = now->count[RUNQHIST_PREEMPTED] -
				   before->count[RUNQHIST_PREEMPTED];

	e->is_idle = !woken && !preempted && !e->pending;
	if (now->tgid) {
		e->tgid = now->tgid;
		e->tid = now->tid;
	}
	if (now->comm[0])
		memcpy(e->comm, now->comm, sizeof(e->comm));
	if (!e->is_idle) {
		buf_printf(to, "%" PRIu64 " %" PRIu32 " %" PRIu32 " ", (uint64_t)e->key.id,
			   e->tgid, e->tid);
		for (size_t i = 0; i < sizeof(e->comm); i++)
			buf_printf(to, "%02x", (unsigned char)e->comm[i]);
		buf_printf(to,
			   " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
			   " %" PRIu64,
			   woken,
			   (uint64_t)(now->sum_ns[RUNQHIST_WOKEN] - before->sum_ns[RUNQHIST_WOKEN]),
			   preempted,
			   (uint64_t)(now->sum_ns[RUNQHIST_PREEMPTED] -
				      before->sum_ns[RUNQHIST_PREEMPTED]),
			   now->turn_of[turn & 1] == turn ? (uint64_t)now->max_ns[turn & 1] : 0,
			   e->pending, e->oldest_ns);
		add_buckets(to, now, before);
	}
	e->value = *now;
}

static void add_value(struct runqhist_value *sum, const struct runqhist_value *part, uint32_t turn)
{
	const unsigned slot = turn & 1;

	for (size_t k = 0; k < RUNQHIST_KINDS; k++) {
		sum->count[k] += part->count[k];
		sum->sum_ns[k] += part->sum_ns[k];
	}
	for (unsigned i = 0; i < RUNQHIST_BUCKETS; i++)
		sum->buckets[i] += part->buckets[i];
	if (part->turn_of[slot] == turn && part->max_ns[slot] > sum->max_ns[slot])
		sum->max_ns[slot] = part->max_ns[slot];
}

static int fetch_cpus(struct buf *to, uint32_t turn)
{
	const int count = bpf_possible_cpus();
	const uint32_t first = 0;
	struct runqhist_value *values = mem_alloc((size_t)count * sizeof(*values)), sum = { 0 };
	int err = bpf_map_get(bpf_map__fd(program->maps.by_cpu), &first, values);

	sum.turn_of[turn & 1] = turn;
	for (int cpu = 0; !err && cpu < count; cpu++) {
		const struct runqhist_key key = { .id = (uint64_t)cpu };

		if (config.by == RUNQHIST_CPU)
			add_row(to, entry_of(&key), &values[cpu], turn);
		else
			add_value(&sum, &values[cpu], turn);
	}
	if (!err && config.by == RUNQHIST_ALL)
		add_row(to, entry_of(&(struct runqhist_key){ 0 }), &sum, turn);
	free(values);
	return err ? fail_errno(-err, "reading a BPF map") : 0;
}

/* The map is more than half full: who did nothing is taken out, and comes back if it does. */
static void make_room(int map, uint32_t used)
{
	if (used < bpf_map__max_entries(program->maps.by_key) / 2)
		return;
	for (size_t i = 0; i < entry_count; i++)
		if (entries[i]->is_idle && !bpf_map_remove(map, &entries[i]->key))
			memset(&entries[i]->value, 0, sizeof(entries[i]->value));
}

static void fetch_keys(struct buf *to, uint32_t turn)
{
	const int map = bpf_map__fd(program->maps.by_key);
	const uint32_t most = bpf_map__max_entries(program->maps.by_key);
	struct runqhist_key key, next;
	const struct runqhist_key *from = NULL;
	uint32_t used = 0;

	while (used < most && !bpf_map_next(map, from, &next)) {
		key = next;
		from = &key;
		entry_of(&key);
		used++;
	}
	for (size_t i = 0; i < entry_count; i++) {
		struct runqhist_value now;

		/* not in it: it has only waited so far */
		if (bpf_map_get(map, &entries[i]->key, &now))
			now = entries[i]->value;
		add_row(to, entries[i], &now, turn);
	}
	make_room(map, used);
}

static int runqhist_fetch(void *arg, struct buf *reply)
{
	(void)arg;
	if (!program)
		return fail(ENOENT, "bpf runqhist: not open");
	const uint32_t turn = program->bss->turn;
	const struct runqhist_counts *b = &counts_before;

	for (size_t i = 0; i < entry_count; i++)
		entries[i]->pending = entries[i]->oldest_ns = 0;
	program->bss->turn = turn + 1;
	int err = bpf_iterate(bpf_link__fd(program->links.each_task), sizeof(struct runqhist_task),
			      add_pending, NULL);

	if (!err && config.by <= RUNQHIST_CPU)
		err = fetch_cpus(reply, turn);
	else if (!err)
		fetch_keys(reply, turn);
	if (err)
		return err;
	const struct runqhist_counts now = program->bss->counts;

	buf_printf(reply, "counts %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
		   (uint64_t)(now.repaired - b->repaired), (uint64_t)(now.missed - b->missed),
		   (uint64_t)(now.dropped - b->dropped), (uint64_t)(now.undecided - b->undecided));
	counts_before = now;
	return 0;
}

int runqhist_read(const struct runqhist_config *asked, const struct runqhist_row **rows,
		  size_t *count, const struct runqhist_counts **c)
{
	static const char *const names[] = { "all", "cpu", "process", "thread", "cgroup" };
	const char *key = arena_printf(src_arena(), "bpf runqhist %s %s%s%s", names[asked->by],
				       asked->has_woken ? "woken" : "",
				       asked->has_woken && asked->has_preempted ? "," : "",
				       asked->has_preempted ? "preempted" : "");
	struct text reply;
	int err = src_call(key, runqhist_fetch, NULL, &reply);

	*c = &counts;
	return err ? err : runqhist_parse(reply, src_arena(), rows, count, &counts);
}

/* ---- opening ---- */

/* Who is asked for, as the first pid namespace numbers them. */
struct asked {
	const uint64_t *ids;
	size_t count;
	bool *is_found;
};

static void choose(const struct asked *asked, uint32_t own, uint32_t id, int map)
{
	const uint32_t yes = 1;

	for (size_t i = 0; i < asked->count; i++)
		if (asked->ids[i] == own && own) {
			asked->is_found[i] = true;
			bpf_map_put(map, &id, &yes);
		}
}

static void choose_task(const void *row, void *arg)
{
	const struct runqhist_task *t = row;
	const struct asked *asked = arg;       /* processes, threads */

	choose(&asked[0], t->own_tgid, t->tgid, bpf_map__fd(program->maps.pids));
	choose(&asked[1], t->own_tid, t->tid, bpf_map__fd(program->maps.tids));
}

static int check_found(const struct asked *asked, const char *what)
{
	for (size_t i = 0; i < asked->count; i++)
		if (!asked->is_found[i])
			return fail(ESRCH, "no %s %" PRIu64, what, asked->ids[i]);
	return 0;
}

static const char *lacks(uint32_t missing)
{
	if (missing & RUNQHIST_NO_GROUPS)
		return "has no CPU groups (CONFIG_FAIR_GROUP_SCHED)";
	return missing & RUNQHIST_NO_INFO ? "does not measure waits (no CONFIG_SCHED_INFO)" :
		"is for a single CPU (no CONFIG_SMP)";
}

static int start(void)
{
	bool *is_found = mem_alloc(config.pid_count + config.tid_count + 1);
	struct asked asked[2] = {
		{ config.pids, config.pid_count, is_found },
		{ config.tids, config.tid_count, is_found + config.pid_count },
	};
	program->bss->started_ns = src_now_ns();
	int err = -runqhist_bpf__attach(program);

	if (err)
		err = bpf_fail(err, "attaching the BPF programs");
	else
		err = bpf_iterate(bpf_link__fd(program->links.each_task),
				  sizeof(struct runqhist_task), choose_task, asked);
	if (!err && program->bss->missing)
		err = fail(EINVAL, "this kernel %s", lacks(program->bss->missing));
	if (!err && program->bss->level && !program->rodata->may_copy)
		err = fail(EPERM, "lockdown=confidentiality hides which thread is which in a pid "
				  "namespace");
	if (!err)
		err = check_found(&asked[0], "process");
	if (!err)
		err = check_found(&asked[1], "thread");
	free(is_found);
	runqhist_judge_names();
	return err;
}

static uint32_t keys_wanted(void)
{
	struct pids_host host = { .threads = NA_U64 };

	if (config.by <= RUNQHIST_CPU)
		return 1;
	pids_read_host(&host);
	const uint64_t threads = host.threads == NA_U64 ? 0 : host.threads,
		       more = config.by == RUNQHIST_CGROUP ? 0 : 2 * threads,
		       wanted = more + KEYS_SPARE;

	return wanted > KEYS_MAX ? KEYS_MAX : (uint32_t)wanted;
}

static int load(bool may_copy)
{
	bpf_quiet();
	program = runqhist_bpf__open();
	if (!program)
		return errno;
	program->rodata->may_copy = may_copy;
	program->rodata->by = config.by;
	program->rodata->kinds = (config.has_woken ? 1u << RUNQHIST_WOKEN : 0) |
		(config.has_preempted ? 1u << RUNQHIST_PREEMPTED : 0);
	program->rodata->is_unified = config.is_unified;
	program->rodata->has_ids = config.pid_count + config.tid_count > 0;
	program->rodata->has_groups = config.has_groups;
	program->rodata->has_names = config.is_chosen != NULL;
	program->bss->turn = 2;
	bpf_map__set_max_entries(program->maps.by_key, keys_wanted());
	if (config.has_groups)
		bpf_map__set_max_entries(program->maps.groups, GROUPS_MAX);
	if (config.is_chosen)
		bpf_map__set_max_entries(program->maps.names, NAMES_MAX);
	return -runqhist_bpf__load(program);
}

int runqhist_open(const struct runqhist_config *wanted)
{
	if (!src_is_live() || program)
		return 0;
	config = *wanted;
	memset(&counts_before, 0, sizeof(counts_before));
	if (config.pid_count > NAMES_MAX || config.tid_count > NAMES_MAX)
		return fail(E2BIG, "more than %d ids", NAMES_MAX);
	int err = load(true);

	if (err == ENOTSUP && !program)
		return fail(ENOTSUP, "built without BPF");
	if (err && program && err != EPERM && err != ENOSYS) {
		runqhist_close();      /* lockdown=confidentiality forbids copying, not looking */
		err = load(false);
	}
	if (err)
		err = bpf_explain_load(err, "BPF task iterators", 8);
	else
		err = start();
	if (err)
		runqhist_close();
	return err;
}

void runqhist_choose_groups(const uint64_t *ids, size_t count)
{
	const uint32_t yes = 1;

	for (size_t i = 0; program && i < count; i++)
		bpf_map_put(bpf_map__fd(program->maps.groups), &ids[i], &yes);
}

void runqhist_judge_names(void)
{
	char key[16], next[16], name[17] = "";
	const char *from = NULL;

	if (!program || !config.is_chosen)
		return;
	const int map = bpf_map__fd(program->maps.names);

	for (unsigned n = 0; n < NAMES_MAX && !bpf_map_next(map, from, next); n++) {
		uint32_t verdict;

		memcpy(key, next, sizeof(key));
		from = key;
		if (bpf_map_get(map, key, &verdict) || verdict != RUNQHIST_ASK)
			continue;
		memcpy(name, key, sizeof(key));
		verdict = config.is_chosen(name) ? RUNQHIST_YES : RUNQHIST_NO;
		bpf_map_put(map, key, &verdict);
	}
}

void runqhist_close(void)
{
	runqhist_bpf__destroy(program);
	program = NULL;
	for (size_t i = 0; i < entry_count; i++)
		free(entries[i]);
	free(entries);
	entries = NULL;
	entry_count = entry_cap = 0;
	hash_free(&by_key);
}
