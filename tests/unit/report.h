/* A small table with a column of every kind, and ways to print it: for the tests of report/out. */
#ifndef TESTS_UNIT_REPORT_H
#define TESTS_UNIT_REPORT_H

#include <stdlib.h>

#include "common/report/out.h"
#include "tests/unit/check.h"

#define TEST_TIME UINT64_C(1796008327123456789)      /* 2026-11-30T03:12:07.123Z */

struct thread_row {
	uint64_t tid;
	const char *comm, *cgroup, *pod;
	double wait_ratio, switches_per_second, used_cpus;
	uint64_t wait_ns, rss_bytes, runs;
	int64_t nice;
	bool busy, estimated;
};

static const struct column thread_columns[] = {
	COL(struct thread_row, tid, "TID", ROLE_KEY, UNIT_ID, "thread"),
	COL_EST(struct thread_row, wait_ratio, estimated, "%WAIT", ROLE_GAUGE, UNIT_RATIO,
		"share of time"),
	COL(struct thread_row, wait_ns, "WAIT", ROLE_COUNTER, UNIT_NS, "time waited"),
	COL(struct thread_row, switches_per_second, "CS/s", ROLE_GAUGE, UNIT_PER_SECOND,
	    "switches"),
	COL(struct thread_row, rss_bytes, "RSS", ROLE_GAUGE, UNIT_BYTES, "memory"),
	COL(struct thread_row, runs, "RUNS", ROLE_COUNTER_DELTA, UNIT_COUNT, "times it ran"),
	COL(struct thread_row, nice, NULL, ROLE_GAUGE, UNIT_COUNT, "\"niceness\" \\ priority"),
	COL(struct thread_row, used_cpus, "CPUS", ROLE_GAUGE, UNIT_CPUS, "CPUs used"),
	COL(struct thread_row, busy, "BUSY", ROLE_GAUGE, UNIT_YES, "has work"),
	COL_NAME(struct thread_row, comm, "COMM", ROLE_KEY, NAME_COMMAND, "command"),
	COL_NAME_IF_ANY(struct thread_row, pod, "POD", ROLE_TEXT, NAME_CONTAINER, "pod"),
	COL_NAME(struct thread_row, cgroup, "CGROUP", ROLE_TEXT, NAME_CGROUP, "cgroup path"),
};

struct group_row {
	const char *name;
	uint64_t threads;
};

static const struct column group_columns[] = {
	COL_NAME(struct group_row, name, "GROUP", ROLE_KEY, NAME_PLAIN, "what it is called"),
	COL(struct group_row, threads, "THREADS", ROLE_GAUGE, UNIT_COUNT, "how many"),
};

static const struct table threads_table = {
	.name = "threads", .help = "a thread", TABLE(struct thread_row, thread_columns),
	.sort = "-wait_ratio", .top = true,
};

static const struct table groups_table = {
	.name = "groups", .help = "a group", TABLE(struct group_row, group_columns),
};

static const struct table *const test_tables[] = { &threads_table, &groups_table, NULL };

static const struct finding_kind test_kinds[] = {
	{ "test.throttled", "now", "always" },
	{ "test.full", "risk", "always" },
	{ NULL, NULL, NULL },
};

/* An out that prints into memory. */
struct printed {
	char *text;
	size_t len;
	FILE *file;
	struct out *out;
};

static inline bool print_to_memory(struct printed *p, struct out_config config)
{
	*p = (struct printed){ .text = NULL };
	p->file = open_memstream(&p->text, &p->len);
	config.applet = config.applet ? config.applet : "conntrack-top";
	config.tables = test_tables;
	config.to = p->file;
	return CHECK(out_open(&config, &p->out) == 0);
}

/* Closes it; the text stays until printed_free. */
static inline const char *printed_text(struct printed *p)
{
	CHECK(out_close(p->out) == 0);
	fclose(p->file);
	return p->text;
}

static inline void printed_free(struct printed *p)
{
	free(p->text);
}

static inline struct thread_row known_row(uint64_t tid, double wait_ratio, const char *comm)
{
	return (struct thread_row){
		.tid = tid, .comm = comm, .cgroup = "/system.slice/a.service",
		.wait_ratio = wait_ratio,
		.switches_per_second = 44, .used_cpus = 0.5, .wait_ns = 1234567890,
		.rss_bytes = 2040109466, .runs = 1234567, .nice = -5, .busy = true,
	};
}

static inline struct thread_row unknown_row(uint64_t tid)
{
	return (struct thread_row){
		.tid = tid, .wait_ratio = NA_F64, .switches_per_second = NA_F64,
		.used_cpus = NA_F64, .wait_ns = NA_U64, .rss_bytes = NA_U64,
		.runs = NA_U64, .nice = NA_I64, .estimated = true,
	};
}

static inline struct finding *add_test_finding(struct out *o, enum finding_state state,
					       const char *subject)
{
	struct finding *f = finding_start(out_arena(o), test_kinds, "test.throttled", state,
					  subject);

	finding_u64(f, "drops", 220);
	finding_u64(f, "limit", NA_U64);
	finding_f64(f, "lost_ratio", 0.1);
	finding_text(f, "comm", NAME_COMMAND, "a;b");
	finding_line(f, "3.48 CPU-s/s lost");
	finding_line(f, "worst  %s", "java");
	finding_proof(f, "throttled_usec +1");
	finding_next(f, "perfbox cpuwait 1");
	out_finding(o, f);
	return f;
}

#endif
