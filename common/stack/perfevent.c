#include "common/stack/perfevent.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/base/fail.h"
#include "common/base/mem.h"
#include "common/kernel/source.h"
#include "common/stack/perforder.h"

#define RING_LEAST (16u << 10)
/* x86: ax bx cx dx si di bp sp ip flags cs ss, r8 to r15; arch/x86/include/uapi/asm/perf_regs.h.
 * arm64: all of them. */
#if defined(__x86_64__)
#define USER_REGISTERS 0xff0fffull
#else
#define USER_REGISTERS ((1ull << 33) - 1)
#endif

struct ring {
	struct perf_event_mmap_page *head;
	unsigned char *data;
	size_t size;                   /* of data, a power of two */
	size_t ready;                  /* bytes of it to be read */
};

/* Records of one drain; freed when the last of them has been handed out. */
struct chunk {
	size_t left;
	size_t len;
	unsigned char bytes[];
};

struct perfevent {
	struct perf_event_attr attr;
	struct perf_events events;
	struct perfevent_facts facts;
	struct arena arena;
	int *fds;
	size_t fd_count, fd_cap;
	struct ring *rings;            /* of each CPU that is online */
	struct pollfd *polled;
	size_t ring_count;
	struct perforder order;
	struct chunk *given;           /* whose record was handed out last */
};

/* ---- opening ---- */

static void fill_attr(struct perf_event_attr *a, const struct perfevent_options *o,
		      const struct perfname *n)
{
	*a = (struct perf_event_attr){
		.type = n->type,
		.size = sizeof(*a),
		.config = n->config,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
			       PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD,
		.disabled = 1,
		.inherit = !o->target.is_everything,
		.exclude_hv = 1,
		.exclude_kernel = n->without_kernel,
		.exclude_user = n->without_user,
		.exclude_idle = n->is_clock,
		.exclude_guest = n->is_hardware,
		.mmap = 1, .mmap2 = 1, .comm = 1, .comm_exec = 1, .task = 1,
		.sample_id_all = 1,
		.enable_on_exec = o->starts_on_exec,
		.watermark = 1,
		.ksymbol = 1, .bpf_event = 1, .build_id = 1,
	};
	if (o->frequency) {
		a->freq = 1;
		a->sample_freq = o->frequency;
	} else {
		a->sample_period = o->period;
	}
	if (o->tells_cgroup) {
		a->sample_type |= PERF_SAMPLE_CGROUP;
		a->cgroup = 1;
	}
	if (o->dumps_stack) {
		a->sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
		a->exclude_callchain_user = 1;
		a->sample_regs_user = USER_REGISTERS;
		a->sample_stack_user = PERFEVENT_STACK_BYTES;
	}
}

/* Takes out what older kernels don't know, newest first. False: nothing is left. */
static bool simplify(struct perf_event_attr *a)
{
	if (a->build_id)
		a->build_id = 0;       /* 5.12 */
	else if (a->ksymbol || a->bpf_event)
		a->ksymbol = a->bpf_event = 0; /* 5.1 */
	else
		return false;
	return true;
}

/* Finds an attr that the kernel takes, on the first CPU and thread that are there. */
static int negotiate(struct perfevent *p, const struct perfevent_options *o)
{
	const struct perfevent_target *t = &o->target;
	const int tid = t->tid_count ? (int)t->tids[0] : -1;

	for (;;) {
		const int fd = perfevent_open_one(&p->attr, t, tid, (int)t->cpus[0]);

		if (fd >= 0) {
			close(fd);
			return 0;
		}
		if (fd == -EINVAL && simplify(&p->attr))
			continue;
		if ((fd == -EACCES || fd == -EPERM) && !p->attr.exclude_kernel &&
		    !p->attr.exclude_user) {
			p->facts.without_kernel = arena_strdup(&p->arena, fail_text());
			p->attr.exclude_kernel = 1;
			/* those of programs and trampolines need the kernel's part, too */
			p->attr.ksymbol = p->attr.bpf_event = 0;
			continue;
		}
		return fd;
	}
}

static bool is_not_here(int err)
{
	return err == -ENOENT || err == -EOPNOTSUPP || err == -ENODEV || err == -ENXIO;
}

static int choose_event(struct perfevent *p, const struct perfevent_options *o)
{
	const char *name = o->event ? o->event : "cycles";
	struct perfname n;
	int err = perfname_parse(name, &n);

	if (err < 0)
		return err;
	fill_attr(&p->attr, o, &n);
	err = negotiate(p, o);
	if (is_not_here(err) && !o->event) {
		p->facts.fallback = "this machine has no hardware counters (often a virtual one)";
		name = "cpu-clock";
		perfname_parse(name, &n);
		fill_attr(&p->attr, o, &n);
		err = negotiate(p, o);
	}
	if (is_not_here(err))
		return fail(-err, "-e %s: this machine cannot count it", name);
	p->facts.event = arena_strdup(&p->arena, name);
	p->facts.is_clock = n.is_clock;
	return err;
}

static int add_fd(struct perfevent *p, int fd)
{
	p->fds = mem_grow(p->fds, &p->fd_cap, p->fd_count + 1, sizeof(*p->fds));
	return p->fds[p->fd_count++] = fd;
}

static int map_ring(struct perfevent *p, struct ring *r, int fd)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);

	for (;;) {
		void *at = mmap(NULL, page + p->facts.ring_bytes, PROT_READ | PROT_WRITE,
				MAP_SHARED, fd, 0);

		if (at != MAP_FAILED) {
			*r = (struct ring){ .head = at, .data = (unsigned char *)at + page,
					    .size = p->facts.ring_bytes };
			return 0;
		}
		/* what may be locked is used up, by us or by others */
		if ((errno != EPERM && errno != ENOMEM) || p->facts.ring_bytes <= RING_LEAST)
			return perfevent_fail_refused(errno, "mapping a ring");
		p->facts.ring_bytes /= 2;
	}
}

/* All threads on one CPU: they share a ring. A thread that is gone already is no trouble. */
static int open_cpu(struct perfevent *p, const struct perfevent_target *t, unsigned cpu)
{
	const size_t count = t->tid_count ? t->tid_count : 1;
	struct ring *ring = &p->rings[p->ring_count];
	int first = -1;

	for (size_t i = 0; i < count; i++) {
		const int fd = perfevent_open_one(&p->attr, t, t->tid_count ? (int)t->tids[i] : -1,
						  (int)cpu);

		if (fd == -ESRCH && count > 1)
			continue;
		if (fd == -ENODEV)     /* went offline */
			return 0;
		if (fd < 0)
			return fd;
		add_fd(p, fd);
		if (first >= 0) {
			if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, first) < 0)
				return fail_errno(errno, "PERF_EVENT_IOC_SET_OUTPUT");
			continue;
		}
		const int err = map_ring(p, ring, fd);

		if (err < 0)
			return err;
		first = fd;
		p->polled[p->ring_count] = (struct pollfd){ .fd = fd, .events = POLLIN };
	}
	if (first < 0)
		return fail(ESRCH, "the threads are gone");
	p->ring_count++;
	return 0;
}

static void describe(struct perfevent *p)
{
	struct perf_attr a;
	const struct text bytes = { (const char *)&p->attr, sizeof(p->attr) };

	if (!perf_attr_decode(bytes, &a))
		return;
	struct perf_event *e = perf_events_add(&p->events, &a);

	if (e)
		perf_events_set_name(e, text_of(p->facts.event));
}

static int open_all(struct perfevent *p, const struct perfevent_options *o)
{
	const struct perfevent_target *t = &o->target;
	const size_t each = t->tid_count ? t->tid_count : 1;
	int err = choose_event(p, o);

	if (err < 0)
		return err;
	if (each > PERFEVENT_OPEN_MAX / t->cpu_count)
		return fail(EMFILE, "%zu threads on %zu CPUs are more than can be opened (%u): "
			    "sample the whole machine (-a) and choose with --include", each,
			    t->cpu_count, PERFEVENT_OPEN_MAX);
	p->facts.ring_bytes = o->dumps_stack ? PERFEVENT_DUMP_RING_BYTES : PERFEVENT_RING_BYTES;
	p->attr.wakeup_watermark = (uint32_t)p->facts.ring_bytes / 2;
	p->rings = mem_alloc(t->cpu_count * sizeof(*p->rings));
	p->polled = mem_alloc((t->cpu_count + 1) * sizeof(*p->polled));
	for (size_t i = 0; i < t->cpu_count; i++) {
		err = open_cpu(p, t, t->cpus[i]);
		if (err < 0)
			return err;
	}
	describe(p);
	return p->ring_count ? 0 : fail(ENODEV, "no CPU could be opened");
}

int perfevent_open(const struct perfevent_options *o, struct perfevent **opened)
{
	struct perfevent *p = mem_alloc(sizeof(*p));
	const int err = open_all(p, o);

	if (err < 0) {
		perfevent_close(p);
		return err;
	}
	*opened = p;
	return 0;
}

static void forget(struct chunk *c)
{
	if (c && !--c->left)
		free(c);
}

void perfevent_close(struct perfevent *p)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct perf_record r;

	if (!p)
		return;
	perforder_finish(&p->order);
	while (perfevent_next(p, &r))
		;
	for (size_t i = 0; i < p->ring_count; i++)
		munmap(p->rings[i].head, page + p->rings[i].size);
	for (size_t i = 0; i < p->fd_count; i++)
		close(p->fds[i]);
	perforder_free(&p->order);
	perf_events_free(&p->events);
	free(p->rings);
	free(p->polled);
	free(p->fds);
	arena_free(&p->arena);
	free(p);
}

const struct perfevent_facts *perfevent_facts(const struct perfevent *p)
{
	return &p->facts;
}

const struct perf_events *perfevent_events(const struct perfevent *p)
{
	return &p->events;
}

size_t perfevent_trailer(const struct perfevent *p)
{
	const uint64_t fields = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID |
		PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER;

	return 8 * (size_t)__builtin_popcountll(p->attr.sample_type & fields);
}

static void for_all(struct perfevent *p, unsigned long request)
{
	for (size_t i = 0; i < p->fd_count; i++)
		ioctl(p->fds[i], request, 0);
}

void perfevent_enable(struct perfevent *p)
{
	for_all(p, PERF_EVENT_IOC_ENABLE);
}

void perfevent_disable(struct perfevent *p)
{
	for_all(p, PERF_EVENT_IOC_DISABLE);
}

/* ---- reading ---- */

void perfevent_wait(struct perfevent *p, int other_fd, int timeout_ms)
{
	size_t n = p->ring_count;

	if (other_fd >= 0)
		p->polled[n++] = (struct pollfd){ .fd = other_fd, .events = POLLIN };
	poll(p->polled, n, timeout_ms);
	/* a ring whose threads have all ended is ready for ever */
	for (size_t i = 0; i < p->ring_count; i++)
		if (p->polled[i].revents & (POLLHUP | POLLERR))
			p->polled[i].fd = -1;
}

/* How much there is to read; what comes later waits for the next time. */
static size_t look_at_ring(struct ring *r)
{
	const uint64_t head = __atomic_load_n(&r->head->data_head, __ATOMIC_ACQUIRE);
	const uint64_t n = head - r->head->data_tail;

	r->ready = n <= r->size ? (size_t)n : 0;
	return r->ready;
}

static void copy_ring(struct chunk *c, struct ring *r)
{
	const uint64_t tail = r->head->data_tail;
	const size_t from = (size_t)(tail & (r->size - 1));
	const size_t first = r->ready < r->size - from ? r->ready : r->size - from;

	memcpy(c->bytes + c->len, r->data + from, first);
	memcpy(c->bytes + c->len + first, r->data, r->ready - first);
	c->len += r->ready;
	__atomic_store_n(&r->head->data_tail, tail + r->ready, __ATOMIC_RELEASE);
}

static void order_chunk(struct perfevent *p, struct chunk *c)
{
	for (size_t at = 0; at + RECORD_HEADER <= c->len;) {
		struct perf_record r = { .bytes = c->bytes + at };

		perf_record_header(&r, r.bytes);
		if (r.size < RECORD_HEADER || r.size > c->len - at)
			break;
		perf_record_find_time(&p->events, &r);
		perforder_add(&p->order, (struct perforder_entry){
			.time = r.has_time ? r.time : 0, .record = r.bytes, .owner = c,
		}, r.size);
		c->left++;
		at += r.size;
	}
	if (!c->left)
		free(c);
}

void perfevent_drain(struct perfevent *p, bool is_last)
{
	size_t bytes = 0;

	for (size_t i = 0; i < p->ring_count; i++)
		bytes += look_at_ring(&p->rings[i]);
	if (bytes) {
		struct chunk *c = mem_alloc(sizeof(*c) + bytes);

		for (size_t i = 0; i < p->ring_count; i++)
			copy_ring(c, &p->rings[i]);
		order_chunk(p, c);
	}
	if (is_last)
		perforder_finish(&p->order);
	else
		perforder_round(&p->order);
}

bool perfevent_next(struct perfevent *p, struct perf_record *r)
{
	struct perforder_entry e;

	forget(p->given);
	p->given = NULL;
	if (!perforder_next(&p->order, &e))
		return false;
	p->given = e.owner;
	*r = (struct perf_record){ .bytes = e.record, .time = e.time, .has_time = e.time != 0 };
	perf_record_header(r, e.record);
	return true;
}
