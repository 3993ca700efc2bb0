/*
 * What a process believes it may take: heap, other memory and CPUs, from its command line and
 * environment, its runtime's version, what it can see of limits, and what it tells about itself.
 * Sizes in bytes. What could not be told is NA_U64, NAN, NULL or feature 0; nothing is guessed.
 *
 * JVM: HotSpot's runtime/arguments.cpp Arguments::set_heap_size, os/linux/osContainer_linux.cpp and
 * cgroupSubsystem_linux.cpp, libjli/args.c. A quarter of the memory it sees, but not less than
 * 124.8M, or half of it where that is less. What it sees:
 *   the host         before 8u191, 9, with -XX:-UseContainerSupport; MaxRAM where given
 *   v1 limits        8u191, 10 (JDK-8146115); its own and (hierarchical_memory_limit) the least of
 *                    its ancestors'; 8u131 and 9 with -XX:+UseCGroupMemoryLimitForHeap
 *   v2 limits        8u372, 11.0.16, 15 (JDK-8230305): its own group's alone
 *   v2, ancestors'   21.0.9, 24 (JDK-8322420)
 * CPUs: affinity, and its group's quota rounded up by the same versions; shares before 11.0.17,
 * 17.0.5, 18.0.2, 19 (JDK-8281181). Other JVMs (OpenJ9): only sizes given on the command line.
 *
 * Node: half of the memory it sees, 256M to 2G (4G where it sees >= 15G, from 14 on), and 3 to 48M
 * for young objects; 1.4G before 12. v8 src/heap/heap.cc, src/api/environment.cc. It sees a v1
 * limit from 12.7 on, its own group's v2 limit from 20.3 on (libuv 1.45), no ancestor's.
 *
 * Go: GOMEMLIMIT is a goal for the collector, not a size it takes, unless GOGC=off; runtime/debug
 * SetMemoryLimit. Without it, and without the environment, a Go program is one of the others.
 */
#ifndef KERNEL_BELIEF_H
#define KERNEL_BELIEF_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/mem.h"
#include "common/base/na.h"
#include "common/base/text.h"
#include "common/kernel/memcg.h"
#include "common/kernel/source.h"

enum belief_kind { BELIEF_OTHER, BELIEF_JVM, BELIEF_NODE, BELIEF_GO };
const char *belief_kind_name(enum belief_kind kind);   /* "jvm", "node", "go"; NULL for others */

/* 8u181 and 1.8.0_181: 8, 181; 17.0.5: 17, 5; Node 20.3.1: 20, 3. feature 0: unknown. */
struct belief_version {
	unsigned feature, update;
};
/* Java's: "1.8.0_181", "17.0.5+8", "21" */
bool belief_parse_version(struct text t, struct belief_version *version);
const char *belief_version_text(struct arena *a, enum belief_kind kind, struct belief_version v);

#define BELIEF_OPTION_MAX 64           /* of the option that sets the heap, as it was typed */

/* A JVM's options that decide about memory and CPUs, the last of each. */
struct jvm_flags {
	uint64_t max_heap_bytes, initial_heap_bytes, max_ram_bytes, direct_bytes, metaspace_bytes,
		code_cache_bytes, stack_bytes;
	double max_percent, min_percent, initial_percent;
	uint64_t max_fraction, min_fraction, initial_fraction;
	uint64_t cpus;
	int uses_container;            /* 1, 0; -1 not said */
	bool uses_cgroup_limit;        /* UseCGroupMemoryLimitForHeap */
	bool has_one_tier;             /* -XX:-TieredCompilation, -Xint: a smaller code cache */
	bool is_incomplete;            /* a file of options could not be read */
	char heap_option[BELIEF_OPTION_MAX];   /* "-Xmx512m"; "" none */
};

/* What was asked of a process. Holds no pointers. */
struct belief_options {
	enum belief_kind kind;
	struct belief_version version;
	bool is_other_jvm;             /* not HotSpot */
	bool has_environment;          /* it was read, or it can't matter */
	struct jvm_flags jvm;
	struct {
		uint64_t old_bytes;    /* --max-old-space-size */
		double old_percent;    /* --max-old-space-size-percentage */
		uint64_t semi_bytes;   /* --max-semi-space-size */
		bool is_incomplete;    /* a title stands where its command line was */
		char heap_option[BELIEF_OPTION_MAX];
	} node;
	struct {
		uint64_t limit_bytes;  /* GOMEMLIMIT */
		bool has_no_gc;        /* GOGC=off */
		uint64_t cpus;         /* GOMAXPROCS */
	} go;
	uint64_t arenas;               /* MALLOC_ARENA_MAX */
};

/* A file named by an option, as the process would open it: false if it can't be read. */
struct belief_files {
	bool (*read)(void *arg, struct text name, struct text *content);
	void *arg;
};

struct belief_texts {
	struct text cmdline;           /* words, each ended by NUL */
	struct text environ;           /* the same; data NULL: not read */
	struct text exe;               /* where the program stands; empty: unknown */
	struct belief_version version; /* of its runtime, where a file beside it says */
	bool is_other_jvm;
	bool has_libjvm;               /* a JVM though it is not called java */
	struct text jvm_arguments;     /* from its hsperfdata, data NULL: unknown; they count
	                                  instead of words and variables */
};
/* files.read may be NULL: none can be read. arena: for as long as the call lasts. */
void belief_parse_options(struct arena *arena, const struct belief_texts *texts,
			  const struct belief_files *files, struct belief_options *options);

/* Of /proc/PID/exe or the first word: "/usr/bin/node" is "node". */
struct text belief_program(const struct belief_texts *texts);
/* Whether its words look like a JVM's, whatever the program is called. */
bool belief_looks_like_jvm(struct text cmdline);

/* ---- belief_args.c ---- */

/* Words of a java launcher's @argfile (libjli/args.c): quotes, escapes in them, # comments. In
 * arena. false: there are no more. */
struct belief_argfile {
	struct text rest;
	char *room;                    /* NULL at the start; all words stand there */
};
bool belief_next_argument(struct arena *arena, struct belief_argfile *file, struct text *word);
void belief_jvm_flags_start(struct jvm_flags *flags);
bool belief_jvm_flag(struct text option, struct jvm_flags *flags);     /* false: not one of ours */
bool belief_parse_size(struct text t, uint64_t *bytes);        /* 512m, 2G, 0x100; HotSpot's */
struct text belief_environ(struct text environ, const char *name);     /* data NULL: not set */

/* ---- belief_perfdata.c ---- */

/* What a HotSpot JVM writes to /tmp/hsperfdata_USER/PID (runtime/perfMemory.hpp), either byte
 * order. Used sizes are those of the last collection. */
struct belief_perfdata {
	uint64_t heap_max_bytes, heap_committed_bytes, metaspace_used_bytes, code_used_bytes;
	struct belief_version version;
	struct text arguments;         /* all options, the environment's too, with blanks between;
	                                  data NULL if they don't fit there (1024 bytes) */
};
int belief_parse_perfdata(struct text t, struct belief_perfdata *perfdata);    /* 0 or -EINVAL */

/* A JDK's or JRE's "release" file; Node's include/node/node_version.h. false: no version. */
bool belief_parse_release(struct text t, struct belief_version *version, bool *is_other_jvm);
bool belief_parse_node_header(struct text t, struct belief_version *version);

/* Of /proc/PID/smaps, how much anonymous memory or swap the heap has: a run of adjacent nameless
 * mappings of exactly this size. NA_U64 if there is none, or it can't be told which. */
uint64_t belief_heap_resident(struct text smaps, uint64_t heap_bytes);

/* ---- belief.c, belief_other.c ---- */

/* What is to be seen where it runs. */
struct belief_view {
	uint64_t host_bytes;           /* all memory */
	int cgroup_version;            /* of the memory controller; 0: none */
	uint64_t own_limit_bytes;      /* its group's; MEMCG_NONE */
	uint64_t least_limit_bytes;    /* least of that and its ancestors'; MEMCG_NONE */
	unsigned allowed_cpus;         /* by affinity; 0 unknown */
	double own_quota_cpus, least_quota_cpus;       /* INFINITY: none */
	uint64_t shares;               /* v1 cpu.shares, or v2 cpu.weight; NA_U64 */
	bool has_weight;               /* it is a weight */
	uint64_t threads;
};

struct belief_measured {
	uint64_t anon_bytes;           /* RssAnon + VmSwap */
	uint64_t heap_resident_bytes;  /* belief_heap_resident */
	const struct belief_perfdata *perfdata;        /* NULL */
};

struct belief {
	uint64_t sees_bytes;           /* the memory its default heap is a share of */
	uint64_t heap_bytes, initial_heap_bytes;
	const char *heap_source;       /* "-Xmx512m", "a quarter of the host's 8.0G"; NULL */
	bool is_heap_asked;            /* by an option, unless it is a share of the host's memory */
	bool is_heap_sure;             /* nothing unread could have changed it */
	bool sees_host;                /* the heap is a share of the host's memory ... */
	const char *why_host;          /* ... as "8u181 does not read control groups, 8u191 does" */
	/* What it may take besides: stated where not measured. */
	uint64_t direct_bytes, metaspace_bytes, code_bytes, stacks_bytes, other_bytes;
	uint64_t nonheap_bytes;        /* measured, else the sum of these */
	bool is_nonheap_measured;
	uint64_t need_bytes;           /* heap and non-heap */
	uint64_t certain_bytes;        /* the same, counting only what is certain: the heap once it
	                                  is full, and non-heap as far as it is measured */
	double cpus;
	uint64_t arena_space_bytes;    /* address space of malloc's arenas at most, if it is
	                                  glibc's: malloc/arena.c, 64M each, 8 per CPU */
	const char *sum;               /* "heap 512M (-Xmx512m) + metaspace 64M ... = 701M" */
};
void belief_make(struct arena *arena, const struct belief_options *options,
		 const struct belief_view *view, const struct belief_measured *measured,
		 struct belief *belief);

/* "cannot fit": certainly more than the limit; "tight": more than nine tenths of it, as far as is
 * measured or stated; "fits". NULL where the need or the limit is unknown, or something unread
 * could change the heap. */
const char *belief_verdict(const struct belief *b, uint64_t limit_bytes);

/* ---- belief_read.c: processes through the source ---- */

struct belief_process {
	struct belief_options options;
	char perfdata[96];             /* where its hsperfdata is, in its own root; "" none */
};
/*
 * Reads /proc/PID/cmdline, exe, with_environment environ, and what those point at inside the
 * process's root. What can't be read stays unknown. uid and nspid as in its status; proc is
 * open on "proc".
 */
void belief_read_process(struct src_dir *proc, uint32_t pid, uint64_t uid, struct text nspid,
			 bool with_environment, struct belief_process *process);
/* Its hsperfdata now; false: none. What perfdata points to lives until the frame's end. */
bool belief_read_perfdata(uint32_t pid, const struct belief_process *process,
			  struct belief_perfdata *perfdata);

#endif
