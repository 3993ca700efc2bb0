/* Inside offcpu --ledger: the accounts, whoever kept them. */
#ifndef APPLETS_OFFCPU_LEDGER_H
#define APPLETS_OFFCPU_LEDGER_H

#include <stdbool.h>
#include <stdint.h>

#include "applets/offcpu/offcpu.h"
#include "common/base/hash.h"
#include "common/base/mem.h"
#include "common/kernel/ledger.h"

/* One thread's time in the interval, or a process's: all of it is in one of the parts. */
struct account {
	uint64_t tgid, tid;            /* NA_U64: threads that exited, told together */
	const char *comm;              /* raw */
	uint64_t threads;
	bool is_kernel, has_exited;
	bool is_estimated;             /* parts were sampled */
	uint64_t wall_ns;              /* how long it was there */
	uint64_t ns[LEDGER_STATES];    /* NA_U64: this engine can't see it */
	uint64_t queued_ns;            /* woken and preempted, of threads with a nice of 0 or less */
	uint64_t waiting_ns;           /* woken, preempted and throttled together */
	uint64_t sleeping_ns;
	uint64_t user_ns, system_ns;   /* of running */
	uint64_t voluntary, involuntary, major_faults;
};

struct accounts {
	struct account *items;
	size_t count, cap;
	struct hash by_tgid;           /* for accounts_by_process */
};

/* ledger.c: what was asked for */
struct ledger_wanted {
	bool per_process;
	const char *engine;
	uint64_t hz;
};
extern struct ledger_wanted ledger_wanted;
/* Whether it is told at all: of the kernel, by name. */
bool ledger_wants(const char *comm, bool is_kernel);

struct account *accounts_add(struct accounts *to);
void accounts_free(struct accounts *a);
/* Run, by the shares of user and system time that ticks tell: since the look before, or since ever. */
void account_split_run(struct account *a, uint64_t user, uint64_t system, uint64_t all_user,
		       uint64_t all_system);
/* What is not waiting for work, a time or a condition: NA_U64 where sleep's causes are unknown. */
uint64_t account_active_ns(const struct account *a);
/* Sums of the threads of each process, in the first one's place; in arena of the frame. */
void accounts_by_process(const struct accounts *threads, struct accounts *processes);

/* The column that time asleep for this counts in. */
enum ledger_state ledger_state_of(enum wait_cause c);

/* Engines. open: 0 or -errno with fail text. read: accounts of what passed since the look before (the
 * first: none); what is wrong with them is told to out. */
int ledger_bpf_open(const struct targets *t);
int ledger_bpf_read(struct out *out, struct accounts *to);
void ledger_bpf_close(void);

int ledger_proc_open(const struct targets *t);
int ledger_proc_read(struct out *out, struct accounts *to);
uint64_t ledger_proc_sample(void);     /* as mode->poll */
void ledger_proc_close(void);

/* ledger_findings.c */
void ledger_findings(struct out *out, const struct accounts *threads);

#endif
