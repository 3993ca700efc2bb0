#include "common/kernel/ledger.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/base/fail.h"
#include "common/base/scan.h"
#include "common/kernel/bpf.h"
#include "common/kernel/source.h"
#include "ledger.skel.h"

#define NUMBERS (14 + LEDGER_STATES)
#define COMM_DIGITS 32
#define LINE_LEAST (2 * NUMBERS + COMM_DIGITS) /* bytes, newline left out */
#define SUMS_SHARE 4                   /* one sum for so many exited threads there is room for */
#define FILTER_MAX 65536u

static struct ledger_bpf *program;
static struct ledger_counts counts;

/* ---- rows as text ---- */

static void add_row(const void *row, void *arg)
{
	const struct ledger_row *r = row;
	struct buf *to = arg;

	buf_printf(to, "%" PRIu32 " %" PRIu32 " %" PRIu32 " %" PRIu32 " %" PRIu64 " %" PRIu64
		   " %" PRIu64, r->tid, r->tgid, r->host_tid, r->host_tgid, (uint64_t)r->start_ns,
		   (uint64_t)r->opened_ns, (uint64_t)r->time_ns);
	for (size_t i = 0; i < LEDGER_STATES; i++)
		buf_printf(to, " %" PRIu64, (uint64_t)r->ns[i]);
	buf_printf(to, " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu32
		   " %" PRIu32 " ", (uint64_t)r->user_ns, (uint64_t)r->system_ns,
		   (uint64_t)r->voluntary, (uint64_t)r->involuntary, (uint64_t)r->major_faults,
		   r->flags, r->state);
	for (size_t i = 0; i < sizeof(r->comm); i++)
		buf_printf(to, "%02x", (unsigned char)r->comm[i]);
	buf_add_char(to, '\n');
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

static bool scan_row(struct text line, struct ledger_row *row)
{
	struct scan s = scan_of(line);
	uint64_t v[NUMBERS];
	struct text comm;

	for (size_t i = 0; i < NUMBERS; i++)
		if (!scan_u64(&s, &v[i]))
			return false;
	const uint64_t *more = v + 7 + LEDGER_STATES;

	*row = (struct ledger_row){
		.tid = (uint32_t)v[0], .tgid = (uint32_t)v[1], .host_tid = (uint32_t)v[2],
		.host_tgid = (uint32_t)v[3], .start_ns = v[4], .opened_ns = v[5], .time_ns = v[6],
		.user_ns = more[0], .system_ns = more[1], .voluntary = more[2],
		.involuntary = more[3], .major_faults = more[4], .flags = (uint32_t)more[5],
		.state = (uint32_t)more[6],
	};
	for (size_t i = 0; i < LEDGER_STATES; i++)
		row->ns[i] = v[7 + i];
	for (size_t i = 0; i < 4; i++)
		if (v[i] > UINT32_MAX)
			return false;
	return more[5] <= UINT32_MAX && more[6] <= LEDGER_GONE && scan_word(&s, &comm) &&
		scan_comm(comm, row->comm) && !scan_rest(&s).len;
}

static bool scan_counts(struct scan s, struct ledger_counts *c)
{
	uint64_t v[5];

	for (size_t i = 0; i < 5; i++)
		if (!scan_u64(&s, &v[i]))
			return false;
	*c = (struct ledger_counts){ v[0], v[1], v[2], v[3], v[4] };
	return !scan_rest(&s).len;
}

int ledger_parse(struct text reply, struct arena *arena, const struct ledger_row **rows,
		 size_t *count, struct ledger_counts *c)
{
	struct ledger_row *r = arena_alloc(arena, (reply.len / LINE_LEAST + 1) * sizeof(*r));
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
		if (line.len < LINE_LEAST || !scan_row(line, &r[n]))
			break;
		n++;
	}
	return fail(EINVAL, "bpf ledger: line %zu is garbled or missing", n + 1);
}

/* ---- reading ---- */

static int run_pass(enum ledger_pass pass, struct buf *to)
{
	program->bss->pass = pass;
	return bpf_iterate(bpf_link__fd(program->links.each_task), sizeof(struct ledger_row),
			   to ? add_row : NULL, to);
}

/* Those that exited: taken out as they are read. */
static void take_exited(struct bpf_map *map, uint32_t flags, struct buf *to)
{
	const int fd = bpf_map__fd(map);
	const uint32_t most = bpf_map__max_entries(map);
	struct ledger_key *keys = mem_alloc(most * sizeof(*keys));
	const struct ledger_key *from = NULL;
	struct ledger_row row;
	uint32_t count = 0;

	while (count < most && !bpf_map_next(fd, from, &keys[count]))
		from = &keys[count++];
	for (uint32_t i = 0; i < count; i++) {
		if (bpf_map_get(fd, &keys[i], &row) || bpf_map_remove(fd, &keys[i]))
			continue;
		row.flags |= flags;
		add_row(&row, to);
	}
	free(keys);
}

static int fetch(void *arg, struct buf *reply)
{
	(void)arg;
	if (!program)
		return fail(ENOENT, "bpf ledger: not open");
	int err = run_pass(LEDGER_ROWS, reply);

	if (err)
		return err;
	/* behind the others: who exits meanwhile is in both, and the last row of it counts */
	take_exited(program->maps.exited, 0, reply);
	take_exited(program->maps.exited_sums, LEDGER_SUM, reply);
	const struct ledger_counts *c = &program->bss->counts;

	buf_printf(reply, "counts %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
		   (uint64_t)c->repaired, (uint64_t)c->unseen, (uint64_t)c->summed,
		   (uint64_t)c->lost, (uint64_t)c->unsure);
	return 0;
}

int ledger_read(const struct ledger_row **rows, size_t *count, const struct ledger_counts **c)
{
	struct text reply;
	int err = src_call("bpf ledger", fetch, NULL, &reply);

	*c = &counts;
	return err ? err : ledger_parse(reply, src_arena(), rows, count, &counts);
}

/* ---- opening ---- */

static int load(const struct ledger_options *o)
{
	bpf_quiet();
	program = ledger_bpf__open();
	if (!program)
		return errno;
	memcpy((void *)program->rodata->classes, o->classes, LEDGER_SYSCALLS);
	program->rodata->has_filter = o->pid_count + o->tid_count > 0;
	program->rodata->inherits_filter = o->inherits;
	program->rodata->takes_all_new = o->takes_all_new;
	bpf_map__set_max_entries(program->maps.exited, o->exited_max);
	bpf_map__set_max_entries(program->maps.exited_sums, o->exited_max / SUMS_SHARE + 1);
	return -ledger_bpf__load(program);
}

static void choose(struct bpf_map *map, const uint64_t *ids, size_t count)
{
	const uint8_t yes = 1;

	for (size_t i = 0; i < count; i++) {
		const uint32_t id = (uint32_t)ids[i];

		bpf_map_put(bpf_map__fd(map), &id, &yes);
	}
}

static int start(const struct ledger_options *o)
{
	int err = -ledger_bpf__attach(program);

	if (err)
		return bpf_fail(err, "attaching the BPF programs");
	err = run_pass(LEDGER_LEARN, NULL);
	if (!err && program->bss->missing & LEDGER_NO_GROUPS)
		return fail(ENOTSUP, "this kernel has no CPU groups (CONFIG_FAIR_GROUP_SCHED)");
	if (!err && program->bss->missing & LEDGER_NO_INFO)
		return fail(ENOTSUP, "this kernel does not measure waits (no CONFIG_SCHED_INFO)");
	if (!err && program->bss->missing)
		return fail(ENOTSUP, "this kernel is for a single CPU (no CONFIG_SMP)");
	choose(program->maps.only_tgids, o->pids, o->pid_count);
	choose(program->maps.only_tids, o->tids, o->tid_count);
	program->bss->is_started = true;
	return err ? err : run_pass(LEDGER_START, NULL);
}

int ledger_open(const struct ledger_options *o)
{
	if (!src_is_live() || program)
		return 0;
	memset(&counts, 0, sizeof(counts));
	if (o->pid_count > FILTER_MAX || o->tid_count > FILTER_MAX)
		return fail(ENOTSUP, "more than %u threads are asked for", FILTER_MAX);
	int err = load(o);

	if (err == ENOTSUP && !program)
		return fail(ENOTSUP, "built without BPF");
	if (err) {
		err = bpf_explain_load(err, "a sleeping thread's registers in BPF", 15);
		if (err == -EINVAL)
			err = -ENOTSUP;
	} else {
		err = start(o);
	}
	if (err)
		ledger_close();
	return err;
}

void ledger_close(void)
{
	ledger_bpf__destroy(program);
	program = NULL;
}
