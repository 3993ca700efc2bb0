/*
 * The lines of `perf script` (tools/perf/builtin-script.c), in any selection of fields:
 *
 *     COMM PID[/TID] [CPU] [MISC] TIME: [PERIOD] EVENT: [CGROUP] [PAYLOAD or FRAME]
 *     <blanks> ADDRESS SYMBOL[+0xOFFSET] (OBJECT)         leaf first
 *       FILE:LINE                                         with +srcline
 *     <empty line>
 */
#ifndef STACK_PERFSCRIPT_H
#define STACK_PERFSCRIPT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/text.h"

/* Parts of the line in front of a stack; what is not there is empty or NA. */
struct perfscript_header {
	struct text comm, pid, tid, cpu, event, cgroup;
	uint64_t period;               /* NA_U64 */
	double time;                   /* seconds; NAN */
	bool has_time;
	struct text frame;             /* behind the event: a frame where there is no chain */
	bool is_task_record;           /* PERF_RECORD_MMAP2 and the like: no sample */
	uint64_t lost;                 /* samples, by PERF_RECORD_LOST; else 0 */
};

#define PERFSCRIPT_BARE_MAX 4096       /* bytes of a line in front of a stack that has no time */

struct perfscript_header perfscript_nothing(void);     /* all of it unknown */
/* False: the line is none. Without a time nearly any line may be one: see has_time, event. */
bool perfscript_parse_header(struct text line, struct perfscript_header *h);

struct perfscript_frame {
	uint64_t address;
	struct text symbol;            /* its offset taken off */
	struct text object;            /* what stood in the brackets; empty if there were none */
	bool is_inlined;               /* "(inlined)" instead of an object */
};
bool perfscript_parse_frame(struct text line, struct perfscript_frame *f);

#endif
