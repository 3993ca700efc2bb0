#include "common/kernel/throttle.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "common/base/buf.h"
#include "common/base/fail.h"
#include "common/base/mem.h"
#include "common/base/scan.h"
#include "common/kernel/bpf.h"
#include "common/kernel/source.h"
#include "throttle.skel.h"

#define LINE_LEAST 9 /* bytes: five numbers of one digit, the last line without newline */

static struct throttle_bpf *program;
static struct throttle_counts counts;

/* ---- reading rows out of the kernel ---- */

static void add_row(const void *row, void *arg)
{
	const struct throttle_row *r = row;

	buf_printf(arg, "%" PRIu32 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", r->tid,
		   (uint64_t)r->start_ns, (uint64_t)r->wait_ns, (uint64_t)r->throttled_ns,
		   (uint64_t)r->unsure_ns);
}

/* to NULL: whatever it writes is passed over. */
static int run_pass(enum throttle_pass pass, struct buf *to)
{
	program->bss->pass = pass;
	return bpf_iterate(bpf_link__fd(program->links.each_task), sizeof(struct throttle_row),
			   to ? add_row : NULL, to);
}

static int fetch(void *arg, struct buf *reply)
{
	(void)arg;
	if (!program)
		return fail(ENOENT, "bpf throttle: not open");
	int err = run_pass(THROTTLE_ROWS, reply);

	if (err)
		return err;
	const struct throttle_counts *c = &program->bss->counts;

	buf_printf(reply, "counts %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
		   (uint64_t)c->migrated, (uint64_t)c->regrouped, (uint64_t)c->repaired,
		   (uint64_t)c->dropped, (uint64_t)c->unseen);
	return 0;
}

static bool scan_numbers(struct text line, uint64_t *to, size_t n)
{
	struct scan s = scan_of(line);

	for (size_t i = 0; i < n; i++)
		if (!scan_u64(&s, &to[i]))
			return false;
	return !scan_rest(&s).len;
}

int throttle_parse(struct text reply, struct arena *arena, const struct throttle_row **rows,
		   size_t *count, struct throttle_counts *c)
{
	struct throttle_row *r = arena_alloc(arena, (reply.len / LINE_LEAST + 1) * sizeof(*r));
	struct scan s = scan_of(reply), of_line;
	struct text line;
	uint64_t v[5];
	size_t n = 0;

	while (scan_line(&s, &line)) {
		of_line = scan_of(line);
		if (scan_literal(&of_line, "counts")) {
			if (!scan_numbers(scan_rest(&of_line), v, 5))
				break;
			*c = (struct throttle_counts){ v[0], v[1], v[2], v[3], v[4] };
			*rows = r;
			*count = n;
			return 0;
		}
		if (!scan_numbers(line, v, 5) || v[0] > UINT32_MAX)
			break;
		r[n++] = (struct throttle_row){
			.tid = (uint32_t)v[0], .start_ns = v[1], .wait_ns = v[2],
			.throttled_ns = v[3], .unsure_ns = v[4],
		};
	}
	return fail(EINVAL, "bpf throttle: line %zu is garbled or missing", n + 1);
}

int throttle_read(const struct throttle_row **rows, size_t *count)
{
	struct text reply;
	int err = src_call("bpf throttle", fetch, NULL, &reply);

	return err ? err : throttle_parse(reply, src_arena(), rows, count, &counts);
}

const struct throttle_counts *throttle_counts(void)
{
	return &counts;
}

/* ---- opening ---- */

static int load(bool may_copy)
{
	bpf_quiet();
	program = throttle_bpf__open();
	if (!program)
		return errno;
	program->rodata->may_copy = may_copy;
	return -throttle_bpf__load(program);
}

static int find_missing(void)
{
	uint32_t missing = program->bss->missing;

	if (missing & THROTTLE_NO_GROUPS)
		return fail(EINVAL, "this kernel has no CPU groups (CONFIG_FAIR_GROUP_SCHED)");
	if (missing & THROTTLE_NO_BANDWIDTH)
		return fail(EINVAL, "this kernel has no CPU quotas (CONFIG_CFS_BANDWIDTH)");
	if (missing & THROTTLE_NO_SMP)
		return fail(EINVAL, "this kernel is for a single CPU (no CONFIG_SMP)");
	if (missing & THROTTLE_NO_INFO)
		return fail(EINVAL, "this kernel does not measure waits (no CONFIG_SCHED_INFO)");
	if (program->bss->level && !program->rodata->may_copy)
		return fail(EPERM, "lockdown=confidentiality hides which thread is which in a pid "
				   "namespace");
	return 0;
}

/*
 * Being switched in, after the programs know whom to look at, sets the clock that waits still
 * pending are measured with. A sleep does it; the event may be lost once, not ten times.
 */
static void set_clock(void)
{
	static const struct timespec nap = { .tv_nsec = 20000 };

	for (int i = 0; i < 10 && !*(volatile __u64 *)&program->bss->ahead_ns; i++)
		nanosleep(&nap, NULL);
}

static int start(void)
{
	int err = -throttle_bpf__attach(program);

	if (err)
		return bpf_fail(err, "attaching the BPF programs");
	err = run_pass(THROTTLE_LEARN, NULL);
	if (!err)
		err = find_missing();
	if (err)
		return err;
	set_clock();
	err = run_pass(THROTTLE_START, NULL);
	/* in a pid namespace others have threads, too, that were not looked at */
	program->bss->is_started = !program->bss->level;
	return err;
}

int throttle_open(void)
{
	if (!src_is_live() || program)
		return 0;
	memset(&counts, 0, sizeof(counts));
	int err = load(true);

	if (err == ENOTSUP && !program)
		return fail(ENOTSUP, "built without BPF");
	if (err && program && err != EPERM && err != ENOSYS) {
		throttle_close();      /* lockdown=confidentiality forbids copying, not looking */
		err = load(false);
	}
	if (err) {
		err = bpf_explain_load(err, "task local storage in tracing programs", 12);
		throttle_close();
		return err;
	}
	err = start();
	if (err)
		throttle_close();
	return err;
}

void throttle_close(void)
{
	throttle_bpf__destroy(program);
	program = NULL;
}
