/*
 * Records of the kernel's perf_event rings, as a perf.data holds them too: what kinds there are,
 * which event they belong to, when they were made. Nothing here reads files; live rings and
 * recordings go through the same functions.
 *
 * Formats: include/uapi/linux/perf_event.h; tools/lib/perf/include/perf/event.h for the types from
 * 64, which perf itself writes. All values are little endian, as the machine that reads.
 */
#ifndef STACK_PERFRECORD_H
#define STACK_PERFRECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/hash.h"
#include "common/base/text.h"

enum perf_record_type_number {
	RECORD_MMAP = 1,
	RECORD_LOST = 2,
	RECORD_COMM = 3,
	RECORD_EXIT = 4,
	RECORD_THROTTLE = 5,
	RECORD_UNTHROTTLE = 6,
	RECORD_FORK = 7,
	RECORD_SAMPLE = 9,
	RECORD_MMAP2 = 10,
	RECORD_LOST_SAMPLES = 13,
	RECORD_SWITCH = 14,
	RECORD_SWITCH_CPU_WIDE = 15,
	RECORD_NAMESPACES = 16,
	RECORD_KSYMBOL = 17,
	RECORD_BPF_EVENT = 18,
	RECORD_CGROUP = 19,
	RECORD_TEXT_POKE = 20,
	RECORD_CALLCHAIN_DEFERRED = 22,

	RECORD_USER = 64,              /* perf's own from here; the first is the attr's */
	RECORD_HEADER_ATTR = 64,
	RECORD_HEADER_TRACING_DATA = 66,
	RECORD_HEADER_BUILD_ID = 67,
	RECORD_FINISHED_ROUND = 68,
	RECORD_AUXTRACE = 71,
	RECORD_EVENT_UPDATE = 78,
	RECORD_HEADER_FEATURE = 80,
	RECORD_COMPRESSED = 81,
	RECORD_COMPRESSED2 = 83,
};

/* misc */
#define MISC_CPUMODE 7u
#define MISC_PROC_MAP_TIMEOUT (1u << 12)
#define MISC_MMAP_DATA (1u << 13)      /* MMAP, MMAP2: not executable */
#define MISC_COMM_EXEC (1u << 13)      /* COMM */
#define MISC_FORK_EXEC (1u << 13)      /* FORK: made up by perf for a process that was there */
#define MISC_MMAP_BUILD_ID (1u << 14)  /* MMAP2: a build id instead of device and inode */
#define MISC_BUILD_ID_SIZE (1u << 15)  /* HEADER_BUILD_ID: its size is known */

enum cpumode {
	MODE_UNKNOWN, MODE_KERNEL, MODE_USER, MODE_HYPERVISOR, MODE_GUEST_KERNEL, MODE_GUEST_USER,
};

/* sample_type, in the order of their fields but for IDENTIFIER, which stands first */
#define FIELD_IP (1u << 0)
#define FIELD_TID (1u << 1)
#define FIELD_TIME (1u << 2)
#define FIELD_ADDR (1u << 3)
#define FIELD_READ (1u << 4)
#define FIELD_CALLCHAIN (1u << 5)
#define FIELD_ID (1u << 6)
#define FIELD_CPU (1u << 7)
#define FIELD_PERIOD (1u << 8)
#define FIELD_STREAM_ID (1u << 9)
#define FIELD_RAW (1u << 10)
#define FIELD_BRANCH_STACK (1u << 11)
#define FIELD_REGS_USER (1u << 12)
#define FIELD_STACK_USER (1u << 13)
#define FIELD_WEIGHT (1u << 14)
#define FIELD_DATA_SRC (1u << 15)
#define FIELD_IDENTIFIER (1u << 16)
#define FIELD_TRANSACTION (1u << 17)
#define FIELD_REGS_INTR (1u << 18)
#define FIELD_PHYS_ADDR (1u << 19)
#define FIELD_AUX (1u << 20)
#define FIELD_CGROUP (1u << 21)
#define FIELD_DATA_PAGE_SIZE (1u << 22)
#define FIELD_CODE_PAGE_SIZE (1u << 23)
#define FIELD_WEIGHT_STRUCT (1u << 24)

#define READ_ENABLED (1u << 0)
#define READ_RUNNING (1u << 1)
#define READ_ID (1u << 2)
#define READ_GROUP (1u << 3)
#define READ_LOST (1u << 4)

#define BRANCH_CALL_STACK (1u << 11)
#define BRANCH_HW_INDEX (1u << 17)
#define BRANCH_COUNTERS (1u << 19)

#define ATTR_SIZE_MIN 64               /* PERF_ATTR_SIZE_VER0 */
#define ATTR_MAX_STACK 127             /* frames where an attr has no limit: sysctl's default */

/* What we use of struct perf_event_attr; parts that an older one lacks are 0. */
struct perf_attr {
	uint32_t type, size;
	uint64_t config;
	uint64_t period;               /* or Hz, if is_frequency */
	uint64_t sample_type, read_format, branch_type;
	uint64_t user_regs, intr_regs; /* masks of the registers in a dump */
	uint32_t user_stack;           /* bytes of stack that were asked for */
	uint16_t max_stack;            /* frames of a callchain; 0: the system's limit */
	bool is_frequency, is_inherited, has_sample_id_all;
};

/* bytes: an attr as it was written, of its own size, older or newer. False: too short. */
bool perf_attr_decode(struct text bytes, struct perf_attr *a);
/* "cpu-clock", "cycles", "tracepoint:42", "event 8:0x1f": what an attr alone tells. */
void perf_attr_name(const struct perf_attr *a, char *name, size_t size);

struct perf_event {
	struct perf_attr attr;
	char *name;                    /* as the recorder called it, else perf_attr_name's */
	uint32_t index;                /* in perf_events.items */
	bool is_named;                 /* by the recorder */
};

/* The events of a recording and the ids of their counters. Zeroed is empty. */
#define PERF_EVENTS_MAX 65536
#define PERF_EVENT_IDS_MAX (1u << 24)  /* events times CPUs or threads */

struct perf_events {
	struct perf_event **items;
	size_t count, cap;
	struct hash by_id;
	bool has_identifier;           /* in every event's samples */
	bool has_other_layout;         /* a second event's samples differ and nothing tells whose */
	bool has_no_id;                /* several events, and samples do not say whose they are */
};

/* NULL: there are too many. Owned by es. */
struct perf_event *perf_events_add(struct perf_events *es, const struct perf_attr *a);
/* False: there are too many. */
bool perf_events_add_id(struct perf_events *es, struct perf_event *e, uint64_t id);
void perf_events_set_name(struct perf_event *e, struct text name);
struct perf_event *perf_events_find(const struct perf_events *es, uint64_t id);
void perf_events_free(struct perf_events *es);

/* One record in memory, aligned to 8. */
struct perf_record {
	const unsigned char *bytes;    /* its header first */
	uint32_t size;                 /* with the header; may be more than 65535 (COMPRESSED2) */
	uint32_t type;
	uint16_t misc;
	bool has_time;
	uint64_t time;                 /* ns on the recording's clock */
	uint64_t offset;               /* in the file or stream, for messages */
};

#define RECORD_HEADER 8                /* bytes: u32 type, u16 misc, u16 size */

/* Fills type, misc and size from the 8 bytes at `bytes`. */
void perf_record_header(struct perf_record *r, const unsigned char *bytes);

/* Who and when; what is unknown is NA_U64. */
struct perf_identity {
	uint64_t pid, tid, time, id, stream_id, cpu;
};

/* Of any record but a sample: what stands at its end, if the event was opened with sample_id_all.
 * *used: bytes at the record's end that belong to it. */
void perf_record_identity(const struct perf_events *es, const struct perf_record *r,
			  struct perf_identity *i, uint32_t *used);
/* Whose a sample is: NULL if that cannot be told. */
const struct perf_event *perf_record_event(const struct perf_events *es,
					   const struct perf_record *r);
/* Fills has_time and time. Records of perf's own and made up ones (time 0) have none. */
void perf_record_find_time(const struct perf_events *es, struct perf_record *r);

static inline uint64_t perf_u64(const unsigned char *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline uint32_t perf_u32(const unsigned char *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline uint16_t perf_u16(const unsigned char *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

#endif
