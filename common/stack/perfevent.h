/*
 * Sampling with perf_event_open(2): rings that the kernel writes samples, maps, names and births of
 * processes into; read here in order of time, as the same records that a perf.data holds.
 *
 * Formats: include/uapi/linux/perf_event.h, kernel/events/core.c and ring_buffer.c.
 */
#ifndef STACK_PERFEVENT_H
#define STACK_PERFEVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/stack/perfname.h"
#include "common/stack/perfrecord.h"

#define PERFEVENT_RING_BYTES (512u << 10) /* of a CPU; less where so much may not be locked */
#define PERFEVENT_DUMP_RING_BYTES (4u << 20)      /* the same with stack dumps */
#define PERFEVENT_OPEN_MAX 65536       /* threads times CPUs */
#define PERFEVENT_STACK_BYTES 8192     /* of the stack in a dump, as perf's default */

struct perf_event_attr;

/* Whose events. CPUs: those online (perfevent_cpus). */
struct perfevent_target {
	bool is_everything;            /* all that runs on the CPUs, or all of a cgroup there */
	int cgroup;                    /* its folder, open; -1: none */
	const uint32_t *tids;          /* else these threads, and what they start */
	size_t tid_count;
	const unsigned *cpus;
	size_t cpu_count;
};

struct perfevent_options {
	const char *event;             /* perfname's; NULL: cycles, or cpu-clock without a PMU */
	uint64_t frequency;            /* samples a second; 0: */
	uint64_t period;               /* events between two samples */
	struct perfevent_target target;
	bool starts_on_exec;           /* the one thread is going to exec */
	bool dumps_stack;              /* registers and stack for unwinding, no user frames */
	bool tells_cgroup;             /* of each sample */
};

struct perfevent;

/*
 * Opens everything, counting nothing yet. 0, or -errno with fail text that says what unlocks it:
 * -EACCES, -EPERM (perf_event_paranoid), -ENOENT (no such event here), -ESRCH (no such thread),
 * -EINVAL (a mistake of who asked).
 */
int perfevent_open(const struct perfevent_options *o, struct perfevent **opened);
void perfevent_close(struct perfevent *p);

struct perfevent_facts {
	const char *event;             /* that is sampled */
	const char *fallback;          /* why not cycles; NULL: they are, or were not wanted */
	const char *without_kernel;    /* why the kernel's part is left out; NULL: it is there */
	bool is_clock;                 /* weights are ns of CPU time */
	size_t ring_bytes;             /* of each CPU */
};
const struct perfevent_facts *perfevent_facts(const struct perfevent *p);
const struct perf_events *perfevent_events(const struct perfevent *p);
/* Bytes behind the fields of a record that is no sample, for those that are made up. */
size_t perfevent_trailer(const struct perfevent *p);

void perfevent_enable(struct perfevent *p);
void perfevent_disable(struct perfevent *p);

/* Waits until a ring is half full, other_fd (-1: none) has something, a signal came, or timeout. */
void perfevent_wait(struct perfevent *p, int other_fd, int timeout_ms);
/* Empties the rings once. is_last: nothing comes any more. Then perfevent_next until false: records
 * in order of time, each valid until the next call of either. */
void perfevent_drain(struct perfevent *p, bool is_last);
bool perfevent_next(struct perfevent *p, struct perf_record *r);

/* The numbers of the CPUs that are online; in memory the caller frees. 0 or -errno. */
int perfevent_cpus(unsigned **cpus, size_t *count);
/* perf_event_open for one thread (-1: any) or cgroup on one CPU (-1: any): an fd or -errno with
 * fail text. For counting, too. */
int perfevent_open_one(struct perf_event_attr *attr, const struct perfevent_target *t, int tid,
		       int cpu);
/* "perf_event_paranoid is 2: needs CAP_PERFMON, or ..." for a refused call; fail text is set. */
int perfevent_fail_refused(int err, const char *what);

#endif
