/*
 * The ledger's last engine, where BPF is refused: what /proc counts exactly (running, waiting for a
 * CPU, switches, faults), and samples of what sleeping threads wait in.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "applets/offcpu/ledger.h"
#include "common/base/buf.h"
#include "common/base/fail.h"
#include "common/base/hash.h"
#include "common/base/na.h"
#include "common/base/scan.h"
#include "common/kernel/source.h"
#include "common/kernel/task.h"
#include "common/stack/waitsyscall.h"

#define SHARE_MAX 50                   /* a sample may take one part in so many of the time */
#define COMM_MAX TASK_COMM_MAX

struct known {
	uint32_t tid, tgid;
	char comm[COMM_MAX];
	char state;
	bool is_kernel, is_new;
	uint64_t start_ticks, run_ns, wait_ns, utime, stime, faults, voluntary, involuntary;
	uint32_t seen[LEDGER_STATES];  /* samples: asleep for it */
};

struct all {
	struct known *items;
	size_t count, cap;
	struct hash by_tid;            /* index + 1 */
};
static struct all alls[2], *now = &alls[0], *before = &alls[1];
static const struct targets *targets;
static bool has_looked, has_schedstat;
static uint64_t samples, sample_cost_ns;
static unsigned exited;

static struct known *find(const struct all *a, uint32_t tid)
{
	const uintptr_t at = (uintptr_t)hash_find_number(&a->by_tid, tid);

	return at ? &a->items[at - 1] : NULL;
}

int ledger_proc_open(const struct targets *t)
{
	targets = t;
	has_looked = false;
	samples = sample_cost_ns = 0;
	return 0;
}

/* ---- what /proc counts ---- */

static bool read_counts(struct src_dir *dir, struct known *k)
{
	struct task_schedstat schedstat;
	struct task_status status;
	struct task_stat stat;
	struct text text;
	const char *name = arena_printf(src_arena(), "%u/schedstat", k->tid);

	k->run_ns = k->wait_ns = k->voluntary = k->involuntary = NA_U64;
	if (src_dir_read(dir, name, &text) >= 0 && task_parse_schedstat(text, &schedstat) >= 0) {
		k->run_ns = schedstat.run_ns;
		k->wait_ns = schedstat.wait_ns;
		has_schedstat |= schedstat.run_ns || schedstat.wait_ns;
	}
	name = arena_printf(src_arena(), "%u/status", k->tid);
	if (src_dir_read(dir, name, &text) >= 0 && task_parse_status(text, &status) >= 0) {
		k->voluntary = status.voluntary;
		k->involuntary = status.involuntary;
	}
	name = arena_printf(src_arena(), "%u/stat", k->tid);
	if (src_dir_read(dir, name, &text) < 0 || task_parse_stat(text, &stat) < 0)
		return false;
	const size_t len = stat.comm.len < COMM_MAX ? stat.comm.len : COMM_MAX - 1;

	memcpy(k->comm, stat.comm.data, len);
	k->comm[len] = '\0';
	k->state = stat.state;
	k->is_kernel = stat.flags != NA_U64 && stat.flags & TASK_FLAG_KTHREAD;
	k->start_ticks = stat.start_ticks;
	k->utime = stat.utime_ticks;
	k->stime = stat.stime_ticks;
	k->faults = stat.major_faults;
	return true;
}

static bool is_asked(uint32_t tgid, uint32_t tid)
{
	if (targets->is_all)
		return true;
	for (size_t i = 0; i < targets->pids.count; i++)
		if (targets->pids.items[i] == tgid)
			return true;
	for (size_t i = 0; i < targets->tids.count; i++)
		if (targets->tids.items[i] == tid)
			return true;
	return false;
}

static void read_process(uint32_t pid)
{
	struct src_dir dir;
	const uint32_t *tids;
	size_t count;

	if (src_dir_open(&dir, arena_printf(src_arena(), "proc/%u/task", pid)) < 0)
		return;
	if (src_dir_numbers(&dir, &tids, &count) < 0)
		count = 0;
	for (size_t i = 0; i < count; i++) {
		struct known k = { .tid = tids[i], .tgid = pid };

		if (!is_asked(pid, tids[i]) || find(now, tids[i]) || !read_counts(&dir, &k))
			continue;
		now->items = mem_grow(now->items, &now->cap, now->count + 1, sizeof(*now->items));
		now->items[now->count++] = k;
		*hash_number(&now->by_tid, k.tid) = (void *)(uintptr_t)now->count;
	}
	src_dir_close(&dir);
}

static int read_all(void)
{
	struct src_dir proc;
	const uint32_t *pids;
	size_t count;
	int err = src_dir_open(&proc, "proc");

	if (err < 0)
		return err;
	err = src_dir_numbers(&proc, &pids, &count);
	src_dir_close(&proc);
	for (size_t i = 0; err >= 0 && i < count; i++)
		read_process(pids[i]);
	return err;
}

/* ---- samples ---- */

static enum wait_cause cause_of(const struct known *k)
{
	enum wait_cause cause = CAUSE_UNKNOWN;
	uint64_t number, arguments[3];
	struct text text;

	if (src_readf(&text, "proc/%u/task/%u/wchan", k->tgid, k->tid) >= 0 && text.len &&
	    !text_is(text, "0")) {
		const char *name = arena_text(src_arena(), text);

		cause = wait_cause_of(&name, 1, k->is_kernel);
	}
	if (k->is_kernel)
		return cause == CAUSE_DISK || cause == CAUSE_JOURNAL ? cause : CAUSE_KTHREAD;
	if (cause != CAUSE_UNKNOWN && cause != CAUSE_OTHER && cause != CAUSE_FUTEX)
		return cause;
	if (src_readf(&text, "proc/%u/task/%u/syscall", k->tgid, k->tid) < 0 ||
	    !wait_syscall_parse(text, &number, arguments) || number == NA_U64)
		return cause;
	const struct wait_syscall call = wait_syscall(number);

	if (call.by_futex)
		return wait_syscall_is_lock(arguments[1], arguments[2]) ? CAUSE_LOCK : CAUSE_FUTEX;
	return call.cause == CAUSE_OTHER ? cause : call.cause;
}

static void sample_thread(struct known *k)
{
	struct task_stat stat;
	struct text text;

	if (src_readf(&text, "proc/%u/task/%u/stat", k->tgid, k->tid) < 0 ||
	    task_parse_stat(text, &stat) < 0 || stat.state == 'R' || stat.state == 'Z' ||
	    stat.start_ticks != k->start_ticks)
		return;
	const enum wait_cause cause = cause_of(k);

	if (cause != CAUSE_UNKNOWN)
		k->seen[ledger_state_of(cause)]++;
}

uint64_t ledger_proc_sample(void)
{
	const uint64_t every_ns = 1000000000ull / ledger_wanted.hz, start_ns = src_now_ns();

	if (!has_looked)
		return every_ns;
	src_sample_begin();
	/* of those there were at the look; `now` is that of the latest */
	for (size_t i = 0; i < now->count; i++)
		if (ledger_wants(now->items[i].comm, now->items[i].is_kernel))
			sample_thread(&now->items[i]);
	src_sample_end();
	samples++;
	const uint64_t took_ns = src_now_ns() - start_ns;

	sample_cost_ns += took_ns;
	return took_ns * SHARE_MAX > every_ns ? took_ns * SHARE_MAX : every_ns;
}

/* "samples N COST_NS", then "TID" and a count for each state. */
static int fetch_samples(void *arg, struct buf *reply)
{
	(void)arg;
	buf_printf(reply, "samples %" PRIu64 " %" PRIu64 "\n", samples, sample_cost_ns);
	for (size_t i = 0; i < now->count; i++) {
		const struct known *k = &now->items[i];
		uint32_t sum = 0;

		for (size_t s = 0; s < LEDGER_STATES; s++)
			sum += k->seen[s];
		if (!sum)
			continue;
		buf_printf(reply, "%" PRIu32, k->tid);
		for (size_t s = 0; s < LEDGER_STATES; s++)
			buf_printf(reply, " %" PRIu32, k->seen[s]);
		buf_add_char(reply, '\n');
	}
	return 0;
}

static bool scan_sample(struct text line, struct all *a)
{
	struct scan s = scan_of(line);
	uint64_t tid, seen[LEDGER_STATES];

	if (!scan_u64(&s, &tid) || tid > UINT32_MAX)
		return false;
	for (size_t i = 0; i < LEDGER_STATES; i++)
		if (!scan_u64(&s, &seen[i]) || seen[i] > UINT32_MAX)
			return false;
	struct known *k = find(a, (uint32_t)tid);

	for (size_t i = 0; k && i < LEDGER_STATES; i++)
		k->seen[i] = (uint32_t)seen[i];
	return !scan_rest(&s).len;
}

/* Into the threads of the look before, that is `now` until the looks are swapped. */
static int read_samples(void)
{
	struct text reply, line;
	uint64_t count = 0, cost_ns = 0;
	int err = src_call("offcpu samples", fetch_samples, NULL, &reply);

	if (err < 0)
		return err;
	struct scan s = scan_of(reply);

	if (!scan_literal(&s, "samples") || !scan_u64(&s, &count) || !scan_u64(&s, &cost_ns) ||
	    !scan_literal(&s, "\n"))
		return fail(EINVAL, "offcpu samples: line 1 is garbled or missing");
	for (unsigned n = 2; scan_until(&s, '\n', &line); n++)
		if (!scan_sample(line, now))
			return fail(EINVAL, "offcpu samples: line %u is garbled", n);
	samples = count;
	sample_cost_ns = cost_ns;
	return 0;
}

/* ---- accounts ---- */

static uint64_t uptime_ns(void)
{
	struct text t;
	double seconds;

	if (src_read("proc/uptime", &t) < 0)
		return NA_U64;
	struct scan s = scan_of(t);

	return scan_decimal(&s, &seconds) ? (uint64_t)(seconds * 1e9) : NA_U64;
}

/* How long it was there: since it was made, if that was in the interval. */
static uint64_t wall_of(const struct known *k, uint64_t up_ns)
{
	const uint64_t interval_ns = src_frame()->elapsed_ns;

	if (!k->is_new || up_ns == NA_U64 || k->start_ticks == NA_U64)
		return interval_ns;
	const uint64_t start_ns =
		(uint64_t)((double)k->start_ticks * 1e9 / (double)src_clock_ticks());

	return up_ns > start_ns && up_ns - start_ns < interval_ns ? up_ns - start_ns : interval_ns;
}

static uint64_t at_most(uint64_t ns, uint64_t most)
{
	return ns == NA_U64 ? ns : ns < most ? ns : most;
}

/* Asleep, divided as the samples were. */
static void divide_sleep(struct account *a, const struct known *b)
{
	uint64_t sum = 0;

	for (size_t i = LEDGER_LOCK; b && i < LEDGER_STATES; i++)
		sum += b->seen[i];
	for (size_t i = LEDGER_LOCK; i < LEDGER_STATES; i++) {
		a->ns[i] = NA_U64;
		if (!a->sleeping_ns)
			a->ns[i] = 0;
		else if (sum && a->sleeping_ns != NA_U64)
			a->ns[i] = (uint64_t)((double)a->sleeping_ns * b->seen[i] / (double)sum);
	}
	a->is_estimated = true;
}

static void add_account(const struct known *k, const struct known *b, uint64_t up_ns,
			struct accounts *to)
{
	static const struct known none;
	struct account *a = accounts_add(to);
	const struct known *from = b ? b : &none;

	*a = (struct account){
		.tgid = k->tgid,
		.tid = k->tid,
		.comm = arena_strdup(src_arena(), k->comm),
		.threads = 1,
		.is_kernel = k->is_kernel,
		.wall_ns = wall_of(k, up_ns),
		.voluntary = delta_u64(k->voluntary, from->voluntary),
		.involuntary = delta_u64(k->involuntary, from->involuntary),
		.major_faults = delta_u64(k->faults, from->faults),
	};
	const double tick_ns = 1e9 / (double)src_clock_ticks();
	const uint64_t user = delta_u64(k->utime, from->utime),
		       system = delta_u64(k->stime, from->stime);

	for (size_t i = 0; i < LEDGER_STATES; i++)
		a->ns[i] = NA_U64;
	a->ns[LEDGER_RUN] = at_most(delta_u64(k->run_ns, from->run_ns), a->wall_ns);
	if (!has_schedstat)
		a->ns[LEDGER_RUN] = user == NA_U64 || system == NA_U64 ? NA_U64 :
			at_most((uint64_t)((double)(user + system) * tick_ns), a->wall_ns);
	account_split_run(a, user, system, k->utime, k->stime);
	a->waiting_ns = a->sleeping_ns = NA_U64;
	if (!has_schedstat || a->ns[LEDGER_RUN] == NA_U64)
		return;
	const uint64_t rest = a->wall_ns - a->ns[LEDGER_RUN];

	a->waiting_ns = at_most(delta_u64(k->wait_ns, from->wait_ns), rest);
	/* it never slept: a wait that goes on is not in schedstat yet */
	if (b && k->state == 'R' && b->state == 'R' && !a->voluntary)
		a->waiting_ns = rest;
	if (a->waiting_ns != NA_U64)
		a->sleeping_ns = rest - a->waiting_ns;
	divide_sleep(a, b);
}

static void make_accounts(struct accounts *to)
{
	const uint64_t up_ns = uptime_ns();
	unsigned same = 0;

	for (size_t i = 0; i < now->count; i++) {
		struct known *k = &now->items[i];
		const struct known *b = find(before, k->tid);

		if (b && b->start_ticks != k->start_ticks)
			b = NULL;
		same += b != NULL;
		k->is_new = !b;
		if (ledger_wants(k->comm, k->is_kernel))
			add_account(k, b, up_ns, to);
	}
	exited = (unsigned)before->count - same;
}

static void tell(struct out *out)
{
	struct arena *a = out_arena(out);

	out_line(out, "sampled", "%s times; what threads sleep for is divided by that (~)%s",
		 human_count_u64(a, samples),
		 samples ? "" : ": unknown");
	if (exited)
		out_line(out, "exited", "%u threads: theirs is not in it", exited);
	if (!has_schedstat && now->count)
		out_missing(out, "/proc/PID/schedstat is missing or all zero: waits for a CPU are "
				 "unknown");
}

int ledger_proc_read(struct out *out, struct accounts *to)
{
	struct all *latest = before;
	int err = has_looked ? read_samples() : 0;

	if (err < 0)
		return err;
	before = now;
	now = latest;
	now->count = 0;
	hash_reset(&now->by_tid);
	has_schedstat = false;
	err = read_all();
	if (err < 0)
		return err;
	if (has_looked) {
		make_accounts(to);
		tell(out);
	}
	has_looked = true;
	samples = sample_cost_ns = 0;
	return 0;
}

void ledger_proc_close(void)
{
	for (size_t i = 0; i < 2; i++) {
		free(alls[i].items);
		hash_free(&alls[i].by_tid);
		alls[i] = (struct all){ 0 };
	}
}
