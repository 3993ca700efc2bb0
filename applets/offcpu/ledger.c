/* offcpu --ledger: where all of a thread's time goes; rows add up to the time that passed. */
#include <errno.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "applets/offcpu/ledger.h"
#include "common/base/buf.h"
#include "common/base/fail.h"
#include "common/base/hash.h"
#include "common/base/na.h"
#include "common/base/scan.h"
#include "common/kernel/source.h"
#include "common/report/redact.h"

#define HZ 20
#define HZ_MAX 1000

struct ledger_wanted ledger_wanted = { .hz = HZ };

struct ledger_row_shown {
	uint64_t tgid, tid, threads;
	const char *comm;
	uint64_t wall_ns, run_ns, user_ns, system_ns, woken_ns, preempted_ns, throttled_ns,
		waiting_ns, lock_ns, futex_ns, disk_ns, net_ns, timer_ns, poll_ns, other_ns,
		sleeping_ns, active_ns, busy_ns, voluntary, involuntary, major_faults;
	bool is_estimated, has_exited;
};

#define LEDGER_COLUMNS \
	COL(struct ledger_row_shown, wall_ns, "WALL", ROLE_GAUGE, UNIT_NS, \
	    "time that passed for it: all of the interval, unless it began or exited in it"), \
		COL(struct ledger_row_shown, run_ns, "RUN", ROLE_GAUGE, UNIT_NS, "on a CPU"), \
		COL(struct ledger_row_shown, user_ns, "USER", ROLE_GAUGE, UNIT_NS, \
		    "of that, in user mode, by the shares that ticks saw"), \
		COL(struct ledger_row_shown, system_ns, "SYS", ROLE_GAUGE, UNIT_NS, \
		    "of that, in the kernel"), \
		COL(struct ledger_row_shown, woken_ns, "WOKEN", ROLE_GAUGE, UNIT_NS, \
		    "could run, after a wakeup, and had no CPU"), \
		COL(struct ledger_row_shown, preempted_ns, "PREEMPT", ROLE_GAUGE, UNIT_NS, \
		    "could run on, but lost the CPU"), \
		COL(struct ledger_row_shown, throttled_ns, "THROTTL", ROLE_GAUGE, UNIT_NS, \
		    "could run, but its control group was out of quota"), \
		COL_EST(struct ledger_row_shown, lock_ns, is_estimated, "LOCK", ROLE_GAUGE, \
			UNIT_NS, "asleep: a mutex (a futex that says so)"), \
		COL_EST(struct ledger_row_shown, futex_ns, is_estimated, "FUTEX", ROLE_GAUGE, \
			UNIT_NS, "any other futex: conditions, parked and joining threads"), \
		COL_EST(struct ledger_row_shown, disk_ns, is_estimated, "DISK", ROLE_GAUGE, \
			UNIT_NS, "disks: I/O, fsync, file systems"), \
		COL_EST(struct ledger_row_shown, net_ns, is_estimated, "NET", ROLE_GAUGE, \
			UNIT_NS, "sockets, also those of one host"), \
		COL_EST(struct ledger_row_shown, timer_ns, is_estimated, "TIMER", ROLE_GAUGE, \
			UNIT_NS, "until a time it asked for"), \
		COL_EST(struct ledger_row_shown, poll_ns, is_estimated, "POLL", ROLE_GAUGE, \
			UNIT_NS, "for work: poll, epoll, accept, children, signals, terminals"), \
		COL_EST(struct ledger_row_shown, other_ns, is_estimated, "OTHER", ROLE_GAUGE, \
			UNIT_NS, "all else: pipes, page faults, locks of the kernel"), \
		COL(struct ledger_row_shown, voluntary, "VOL", ROLE_COUNTER_DELTA, UNIT_COUNT, \
		    "switches because it slept"), \
		COL(struct ledger_row_shown, involuntary, "INVOL", ROLE_COUNTER_DELTA, \
		    UNIT_COUNT, "switches although it could have run on"), \
		COL(struct ledger_row_shown, major_faults, "MAJFLT", ROLE_COUNTER_DELTA, \
		    UNIT_COUNT, "page faults that had to read"), \
		COL(struct ledger_row_shown, waiting_ns, NULL, ROLE_GAUGE, UNIT_NS, \
		    "could run and did not: woken, preempted and throttled together"), \
		COL(struct ledger_row_shown, sleeping_ns, NULL, ROLE_GAUGE, UNIT_NS, \
		    "asleep, for whatever"), \
		COL(struct ledger_row_shown, active_ns, NULL, ROLE_GAUGE, UNIT_NS, \
		    "not idle: without poll, timer and futex"), \
		COL(struct ledger_row_shown, busy_ns, NULL, ROLE_GAUGE, UNIT_NS, \
		    "ran or would have: run, could run, lock and disk, as far as known"), \
		COL(struct ledger_row_shown, has_exited, NULL, ROLE_TEXT, UNIT_YES, \
		    "exited in the interval"), \
		COL_NAME(struct ledger_row_shown, comm, "COMM", ROLE_TEXT, NAME_COMMAND, \
			 "thread name; of a process: its first thread's")

static const struct column thread_columns[] = {
	COL(struct ledger_row_shown, tgid, "TGID", ROLE_KEY, UNIT_ID, "process"),
	COL(struct ledger_row_shown, tid, "TID", ROLE_KEY, UNIT_ID,
	    "thread; - those of it that exited, told together for want of room"),
	LEDGER_COLUMNS,
};

static const struct column process_columns[] = {
	COL(struct ledger_row_shown, tgid, "TGID", ROLE_KEY, UNIT_ID, "process"),
	COL(struct ledger_row_shown, threads, "THREADS", ROLE_GAUGE, UNIT_COUNT,
	    "threads it had in the interval; all are summed"),
	LEDGER_COLUMNS,
};

static const struct table thread_table = { .name = "ledger",
					   .help = "a thread",
					   .sort = "-busy_ns",
					   .top = true,
					   TABLE(struct ledger_row_shown, thread_columns) };
static const struct table process_table = { .name = "processes",
					    .help = "with --per-process: a process",
					    .sort = "-busy_ns",
					    .top = true,
					    TABLE(struct ledger_row_shown, process_columns) };
static const struct table *const tables[] = { &thread_table, &process_table, NULL };

static const struct opt options[] = {
	{ 'p', "pid", "PID", "only these processes, all threads (comma list)", OPT_NUMBERS,
	  &window.pids, false, NULL },
	{ 0, "tid", "N", "only these threads (comma list)", OPT_NUMBERS, &window.tids, false,
	  NULL },
	{ 't', NULL, "N", "the same as --tid", OPT_NUMBERS, &window.tids, true, NULL },
	{ 'G', "cgroup", "PATH", "only threads in this control group and below", OPT_TEXT,
	  &window.cgroup, false, NULL },
	{ 'C', "comm", "RE", "only threads whose name matches (extended regular expression)",
	  OPT_TEXT, &window.comm, false, NULL },
	{ 'u', "user-threads", NULL, "no kernel threads", OPT_FLAG, &window.user_threads, false,
	  NULL },
	{ 'k', "kernel-threads", NULL, "only kernel threads", OPT_FLAG, &window.kernel_threads,
	  false, NULL },
	{ 0, "per-process", NULL, "a row per process, all its threads summed", OPT_FLAG,
	  &ledger_wanted.per_process, false, NULL },
	{ 0, "engine", "NAME", "bpf: exact, or not at all; proc: /proc alone, sampled (the best)",
	  OPT_TEXT, &ledger_wanted.engine, false, "bpf|proc" },
	{ 0, "hz", "N", "engine proc: samples a second, if they cost little enough (20)",
	  OPT_NUMBER, &ledger_wanted.hz, false, NULL },
	{ 0, NULL, NULL, NULL, OPT_FLAG, NULL, false, NULL },
};

/* ---- accounts ---- */

struct account *accounts_add(struct accounts *to)
{
	to->items = mem_grow(to->items, &to->cap, to->count + 1, sizeof(*to->items));
	return &to->items[to->count++];
}

void accounts_free(struct accounts *a)
{
	free(a->items);
	hash_free(&a->by_tgid);
	*a = (struct accounts){ 0 };
}

void account_split_run(struct account *a, uint64_t user, uint64_t system, uint64_t all_user,
		       uint64_t all_system)
{
	a->user_ns = a->system_ns = NA_U64;
	if (a->ns[LEDGER_RUN] == NA_U64 || user == NA_U64 || system == NA_U64)
		return;
	if (!(user + system)) {
		user = all_user;
		system = all_system;
	}
	const double share = a->is_kernel ? 0 :
		user + system ? (double)user / (double)(user + system) : 1;

	a->user_ns = (uint64_t)((double)a->ns[LEDGER_RUN] * share);
	a->system_ns = a->ns[LEDGER_RUN] - a->user_ns;
}

uint64_t account_active_ns(const struct account *a)
{
	const uint64_t idle = sum_u64(sum_u64(a->ns[LEDGER_POLL], a->ns[LEDGER_TIMER]),
				      a->ns[LEDGER_FUTEX]);

	return delta_u64(a->wall_ns, idle);
}

static void add_account(struct account *sum, const struct account *part)
{
	sum->threads += part->threads;
	sum->wall_ns = sum_u64(sum->wall_ns, part->wall_ns);
	for (size_t i = 0; i < LEDGER_STATES; i++)
		sum->ns[i] = sum_u64(sum->ns[i], part->ns[i]);
	sum->queued_ns += part->queued_ns;
	sum->waiting_ns = sum_u64(sum->waiting_ns, part->waiting_ns);
	sum->sleeping_ns = sum_u64(sum->sleeping_ns, part->sleeping_ns);
	sum->user_ns = sum_u64(sum->user_ns, part->user_ns);
	sum->system_ns = sum_u64(sum->system_ns, part->system_ns);
	sum->voluntary = sum_u64(sum->voluntary, part->voluntary);
	sum->involuntary = sum_u64(sum->involuntary, part->involuntary);
	sum->major_faults = sum_u64(sum->major_faults, part->major_faults);
	sum->is_estimated |= part->is_estimated;
	sum->has_exited &= part->has_exited;
	if (part->tid == part->tgid)
		sum->comm = part->comm;
}

void accounts_by_process(const struct accounts *threads, struct accounts *processes)
{
	for (size_t i = 0; i < threads->count; i++) {
		const struct account *t = &threads->items[i];
		void **at = hash_number(&processes->by_tgid, t->tgid);

		if (*at) {
			add_account(&processes->items[(uintptr_t)*at - 1], t);
			continue;
		}
		*accounts_add(processes) = *t;
		*at = (void *)(uintptr_t)processes->count;
	}
}

enum ledger_state ledger_state_of(enum wait_cause c)
{
	switch (c) {
	case CAUSE_LOCK:
		return LEDGER_LOCK;
	case CAUSE_FUTEX:
		return LEDGER_FUTEX;
	case CAUSE_DISK:
	case CAUSE_JOURNAL:
	case CAUSE_DIRTY:
	case CAUSE_SWAP:
		return LEDGER_DISK;
	case CAUSE_NETWORK:
		return LEDGER_NET;
	case CAUSE_TIMER:
		return LEDGER_TIMER;
	case CAUSE_POLL:
	case CAUSE_ACCEPT:
	case CAUSE_CHILD:
	case CAUSE_SIGNAL:
	case CAUSE_TTY:
	case CAUSE_KTHREAD:
		return LEDGER_POLL;
	default:
		return LEDGER_OTHER;
	}
}

/* ---- the mode ---- */

static struct targets targets;
static regex_t comm_pattern;
static bool has_pattern, uses_bpf, has_told;
static unsigned looks_done;
static char *refused;                  /* why BPF is not used; NULL: nobody refused it */

bool ledger_wants(const char *comm, bool is_kernel)
{
	if ((window.user_threads && is_kernel) || (window.kernel_threads && !is_kernel))
		return false;
	return !has_pattern || !regexec(&comm_pattern, comm, 0, NULL, 0);
}

static int check(int argc, char **argv)
{
	if (argc > 1)
		return fail(EINVAL, "unexpected word '%s'", argv[1]);
	if (!ledger_wanted.hz || ledger_wanted.hz > HZ_MAX)
		return fail(EINVAL, "--hz: 1 to %d", HZ_MAX);
	if (window.user_threads && window.kernel_threads)
		return fail(EINVAL, "-u and -k exclude each other");
	if (!window.comm)
		return 0;
	if (regcomp(&comm_pattern, window.comm, REG_EXTENDED | REG_NOSUB))
		return fail(EINVAL, "-C: '%s' is not a regular expression", window.comm);
	has_pattern = true;
	return 0;
}

static int open_engine(void)
{
	const char *asked = ledger_wanted.engine;

	if (asked && !strcmp(asked, "proc"))
		return ledger_proc_open(&targets);
	int err = ledger_bpf_open(&targets);

	uses_bpf = err >= 0;
	if (uses_bpf || asked)
		return err == -EINVAL ? -ENOTSUP : err;
	refused = mem_strdup(fail_text());
	return ledger_proc_open(&targets);
}

static int start(int argc, char **argv)
{
	int err = check(argc, argv);

	looks_done = 0;
	uses_bpf = has_told = false;
	targets = (struct targets){ .is_all = true };
	if (err < 0 || !src_is_live())
		return err < 0 ? err : ledger_proc_open(&targets);
	err = targets_find(&targets);
	if (err >= 0)
		err = open_engine();
	return err;
}

/* Which engine it was, for a replay; and why not the better one. */
static int fetch_engine(void *arg, struct buf *reply)
{
	(void)arg;
	buf_add_text(reply, uses_bpf ? "bpf" : "proc ");
	if (!uses_bpf && refused)
		buf_add_text(reply, refused);
	return 0;
}

static int find_engine(struct out *out)
{
	struct text reply;
	int err = src_call("offcpu ledger", fetch_engine, NULL, &reply);

	if (err < 0)
		return err;
	uses_bpf = text_is(reply, "bpf");
	if (uses_bpf || has_told)
		return 0;
	struct scan s = scan_of(reply);

	if (!scan_literal(&s, "proc "))
		return fail(EINVAL, "offcpu ledger: '%.*s' is no engine", (int)reply.len,
			    reply.data);
	const struct text why = scan_rest(&s);

	has_told = true;
	out_note(out, "engine /proc%s%.*s: causes of sleep are sampled; whether a wait for a CPU "
		      "came after a wakeup, a preemption or throttling is not known",
		 why.len ? ", BPF is refused: " : "", (int)why.len, why.data);
	return 0;
}

static uint64_t known(uint64_t ns)
{
	return ns == NA_U64 ? 0 : ns;
}

static struct ledger_row_shown shown(const struct account *a)
{
	return (struct ledger_row_shown){
		.tgid = a->tgid,
		.tid = a->tid,
		.threads = a->threads,
		.comm = a->comm,
		.wall_ns = a->wall_ns,
		.run_ns = a->ns[LEDGER_RUN],
		.user_ns = a->user_ns,
		.system_ns = a->system_ns,
		.woken_ns = a->ns[LEDGER_WOKEN],
		.preempted_ns = a->ns[LEDGER_PREEMPTED],
		.throttled_ns = a->ns[LEDGER_THROTTLED],
		.waiting_ns = a->waiting_ns,
		.lock_ns = a->ns[LEDGER_LOCK],
		.futex_ns = a->ns[LEDGER_FUTEX],
		.disk_ns = a->ns[LEDGER_DISK],
		.net_ns = a->ns[LEDGER_NET],
		.timer_ns = a->ns[LEDGER_TIMER],
		.poll_ns = a->ns[LEDGER_POLL],
		.other_ns = a->ns[LEDGER_OTHER],
		.sleeping_ns = a->sleeping_ns,
		.active_ns = account_active_ns(a),
		.busy_ns = known(a->ns[LEDGER_RUN]) + known(a->waiting_ns) +
			   known(a->ns[LEDGER_LOCK]) + known(a->ns[LEDGER_DISK]),
		.voluntary = a->voluntary,
		.involuntary = a->involuntary,
		.major_faults = a->major_faults,
		.is_estimated = a->is_estimated,
		.has_exited = a->has_exited,
	};
}

static void show(struct out *out, const struct accounts *threads)
{
	const struct table *t = ledger_wanted.per_process ? &process_table : &thread_table;
	struct accounts processes = { 0 };
	const struct accounts *rows = threads;
	const char *name = src_uname()->host;

	out_host(out, "offcpu --ledger  %s  %s  %s",
		 redact_name(out_arena(out), NAME_HOST, name ? name : "-"),
		 human_ns(out_arena(out), (double)src_frame()->elapsed_ns),
		 uses_bpf ? "exact" : "from /proc, sampled");
	if (!out_wants_rows(out))
		return;
	if (ledger_wanted.per_process) {
		accounts_by_process(threads, &processes);
		rows = &processes;
	}
	for (size_t i = 0; i < rows->count; i++) {
		const struct ledger_row_shown row = shown(&rows->items[i]);

		out_row(out, t, &row);
	}
	accounts_free(&processes);
}

static int look(struct out *out)
{
	struct accounts threads = { 0 };
	int err = find_engine(out);

	if (err == -ENOENT && !out_wants_rows(out)) {
		/* saved by triage before it asked, or by an applet that never did */
		out_note(out, "waiting threads: not in the saved run");
		out_unseen_all(out, "(not in the saved run)");
		return 0;
	}
	if (err < 0)
		return err;
	err = uses_bpf ? ledger_bpf_read(out, &threads) : ledger_proc_read(out, &threads);
	if (err >= 0 && (looks_done++ || src_frame()->is_only)) {
		show(out, &threads);
		if (uses_bpf)
			ledger_findings(out, &threads);
		if (!threads.count && !src_frame()->is_only)
			out_note(out, "no thread of those that were asked for is left");
	}
	accounts_free(&threads);
	return err < 0 ? err : 0;
}

static uint64_t poll_samples(void)
{
	return uses_bpf ? 0 : ledger_proc_sample();
}

static void stop(void)
{
	ledger_bpf_close();
	ledger_proc_close();
	targets_free(&targets);
	targets = (struct targets){ 0 };
	free(refused);
	refused = NULL;
	if (has_pattern)
		regfree(&comm_pattern);
	has_pattern = false;
}

static const char *first_table(void)
{
	return ledger_wanted.per_process ? "processes" : "ledger";
}

const struct mode ledger_mode = {
	.option = "--ledger",
	.operands = "[interval [count]]",
	.summary = "where all of a thread's time goes: running, runnable, asleep and for what",
	.opts = options,
	.tables = tables,
	.first_table = first_table,
	.narrowed = window_narrowed,
	.in_triage = true,
	.takes_interval = true,
	.start = start,
	.look = look,
	.poll = poll_samples,
	.stop = stop,
};
