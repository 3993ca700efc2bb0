/* Shared by the files behind perfdata.h. */
#ifndef STACK_PERFDATA_IMPL_H
#define STACK_PERFDATA_IMPL_H

#include "common/base/buf.h"
#include "common/base/mem.h"
#include "common/stack/perfdata.h"
#include "common/stack/perforder.h"

#define BLOCK_BYTES (256u << 10)       /* longer than any record */
#define RECORD_BYTES_MAX (BLOCK_BYTES / 2)

/* Where bytes come from: those in memory first, then the fd's. */
struct perf_input {
	int fd;                        /* -1: none */
	struct text memory;
	uint64_t memory_offset;        /* where memory begins in the file */
	uint64_t offset, end;          /* next byte; where to stop, UINT64_MAX if nobody knows */
	uint64_t size;                 /* of the file; UINT64_MAX if nobody knows */
	bool can_seek;
	int error;                     /* errno of a read that failed; what came before counts */
};

/* Next bytes; 0 at the end or on error. */
size_t perf_input_read(struct perf_input *in, void *to, size_t n);
void perf_input_skip(struct perf_input *in, uint64_t n);
/* n bytes from anywhere of a file that can seek or is in memory. */
bool perf_input_at(const struct perf_input *in, uint64_t offset, void *to, size_t n);

/* Memory that records lie in; back to the pool when nobody needs one of its records. */
struct perf_block {
	struct perf_block *next;       /* in the pool */
	struct perf_pool *pool;
	size_t users, len;
	_Alignas(8) unsigned char bytes[BLOCK_BYTES];
};

struct perf_pool {
	struct perf_block *free;
};

void perf_block_release(struct perf_block *b);
void perf_pool_free(struct perf_pool *p);

/* Cuts bytes into records. */
struct perf_splitter {
	struct perf_pool *pool;
	size_t (*fill)(void *arg, void *to, size_t n);
	void *arg;
	struct perf_input *input;      /* arg's, if it can skip */
	struct perf_block *block, *aside; /* aside: copies of records that were not aligned */
	size_t at;                     /* in block */
	uint64_t offset;               /* of that, from the start of what is split */
	uint64_t skip;                 /* bytes to leave out before the next record */
};

enum perf_split {
	SPLIT_RECORD,
	SPLIT_NOTHING,                 /* and the next byte would be a record's first */
	SPLIT_CUT,                     /* the source ended inside a record */
	SPLIT_BAD,                     /* a size that can't be: the way is lost */
};

/* *owner: the block it is in; one more user if the record is to live beyond the next call. */
enum perf_split perf_split_next(struct perf_splitter *s, struct perf_record *r,
				struct perf_block **owner);
uint64_t perf_split_left(const struct perf_splitter *s);       /* bytes that wait in it */
bool perf_split_is_at(const struct perf_splitter *s, struct text what);
void perf_split_free(struct perf_splitter *s);

/* One zstd stream, that goes on from record to record. */
struct perf_zstd;
struct perf_zstd *perf_zstd_new(void);
void perf_zstd_feed(struct perf_zstd *z, struct text packed);  /* lives until all is taken */
size_t perf_zstd_fill(void *z, void *to, size_t n);            /* 0: feed it */
const char *perf_zstd_error(const struct perf_zstd *z);        /* NULL: none */
void perf_zstd_free(struct perf_zstd *z);

/* One file of records. */
struct perf_stream {
	struct perfdata *data;
	const char *name;
	struct perf_input input;
	struct perf_splitter outer, inner; /* inner: out of compressed records */
	struct perf_zstd *zstd;
	bool is_unpacking, has_ended, is_zstd_lost;
	uint64_t carrier;              /* offset of the compressed record at hand */
	struct perforder order;
	struct perf_record head;       /* the next one, for the merge of several */
	struct perf_block *head_owner;
	bool has_head;
};

struct perfdata {
	struct arena arena;
	struct perf_pool pool;
	struct perf_events events;
	struct perfdata_facts facts;
	struct perfdata_build_id *build_ids;
	size_t build_id_cap;
	struct perf_stream **streams;
	size_t stream_count, stream_cap;
	struct perf_block *lent;       /* the record that was handed out last */
	struct buf spool;              /* what came through a pipe before we knew what it is */
	char *remarks[PERFDATA_REMARKS_MAX];
	size_t remark_count;
	bool lost_records;
	bool owns_fds;
};

struct perf_stream *perfdata_add_stream(struct perfdata *d, const char *name);
/* Both count; the second one also says that records were lost. */
void perfdata_remark_add(struct perfdata *d, const char *format, ...) PRINTF_LIKE(2, 3);
void perfdata_loss_add(struct perfdata *d, const char *format, ...) PRINTF_LIKE(2, 3);

/* The header, attributes and features of a file; s->input is placed at its records. */
int perfdata_read_header(struct perfdata *d, struct perf_stream *s);
/* One feature section. `what` names it in remarks. */
void perfdata_take_feature(struct perfdata *d, const char *name, unsigned feature, struct text t);
/* A record of perf's own. */
void perfdata_take_own(struct perfdata *d, struct perf_stream *s, struct perf_splitter *from,
		       const struct perf_record *r);

#endif
