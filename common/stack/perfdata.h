/*
 * perf.data: the records of a recording in order of time, and what it says about itself. Files
 * (PERFILE2), streams (perf record -o -, also when saved to a file), folders (perf record
 * --threads), compressed records; attributes of older and newer perfs. A recording that is cut or
 * damaged gives all that is whole, and remarks say what was lost and where.
 *
 * Format: tools/perf/Documentation/perf.data-file-format.txt, tools/perf/util/header.c.
 */
#ifndef STACK_PERFDATA_H
#define STACK_PERFDATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/text.h"
#include "common/stack/perfrecord.h"

#define PERFDATA_FEATURE_MAX (64u << 20) /* bytes of one feature section that are looked at */
#define PERFDATA_SPOOL_MAX (2u << 30)  /* of a file (not a stream) that comes through a pipe */
#define PERFDATA_STREAMS_MAX 65536     /* data files of a folder */
#define PERFDATA_REMARKS_MAX 64        /* kept; later ones are counted */
#define PERFDATA_BUILD_IDS_MAX 1000000
#define PERFDATA_BUILD_ID_HEX 41

struct perfdata_build_id {
	const char *path;
	char hex[PERFDATA_BUILD_ID_HEX];
	uint32_t pid;                  /* UINT32_MAX: the host's kernel */
	enum cpumode mode;             /* whose: MODE_KERNEL, MODE_USER, ... */
};

/* NULL, NA_U64: the recording does not say. */
struct perfdata_facts {
	const char *os_release, *architecture, *perf_version, *host, *command;
	uint64_t cpus_online, cpus_available;
	int64_t recorded_at;           /* the file's last change, seconds since 1970; 0: unknown */
	const struct perfdata_build_id *build_ids;
	size_t build_id_count;
	const char *folder;            /* of a recording that is one; with --kcore there is a copy
					  of the kernel's list in kcore_dir/kallsyms */
	bool is_pipe, is_compressed;
};

struct perfdata;

/* From the first 8 bytes: is it one, of any version or byte order? */
bool perfdata_is(struct text start);

/*
 * Open a file or a folder; an fd (start: what was read from it already; neither is kept by close);
 * or what is in memory, which must live as long. name is for messages. 0, or a negative errno with
 * fail text: -ENOTSUP for PERFFILE (before Linux 2.6.32) and the other byte order.
 */
int perfdata_open(const char *path, struct perfdata **opened);
int perfdata_open_fd(int fd, struct text start, const char *name, struct perfdata **opened);
int perfdata_open_memory(struct text t, const char *name, struct perfdata **opened);
void perfdata_close(struct perfdata *d);

/*
 * The kernel's next record in order of time; those without a time where they stand in the file.
 * perf's own are not handed out. It lives until the next call. False: there is no more.
 */
bool perfdata_next(struct perfdata *d, struct perf_record *r);

/*
 * Of several events the first, in the order they were asked for, that has samples. Looks ahead in
 * a file, before its first record is taken; NULL: none has, there is but one event, or it is a
 * stream, where nobody can know.
 */
const struct perf_event *perfdata_first_event(struct perfdata *d);

/* A stream tells these as it goes: they grow with perfdata_next. */
const struct perf_events *perfdata_events(const struct perfdata *d);
const struct perfdata_facts *perfdata_facts(const struct perfdata *d);

/* What was lost or strange, each one line with file and offset: "x.data: at byte 52: ...". */
size_t perfdata_remark_count(const struct perfdata *d);        /* may be more than are kept */
const char *perfdata_remark(const struct perfdata *d, size_t i);       /* NULL: not kept */
bool perfdata_is_whole(const struct perfdata *d);      /* no record was lost on the way here */

#endif
