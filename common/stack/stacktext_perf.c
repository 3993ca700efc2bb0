/* perf script's text, stack by stack. */
#include <stdlib.h>
#include <string.h>

#include "common/base/na.h"
#include "common/base/scan.h"
#include "common/stack/perfscript.h"
#include "common/stack/stacktext_impl.h"

/*
 * Stacks come again and again, address and all, and so do the frames of new ones. What came lately
 * is known by a hash of 128 bits of its text, without being taken apart: where a whole stack
 * belongs in the fold, and which name a line stands for.
 */
#define KNOWN_LINES (1u << 15)
#define KNOWN_STACKS (1u << 17)

struct known_text {
	uint64_t hash, check;
	uint32_t name;                 /* of a line; of a stack: its node. 0: free */
	bool is_cut;
};

struct perf_reader {
	struct known_text *lines, *stacks;
	struct known_text at_hand;     /* the stack that is being read, if it shall be remembered */
	bool has_at_hand;
	uint64_t at_hand_end;          /* the line behind it */

	bool is_in_stack;
	bool is_wanted;                /* its event is the folded one, no filter is against it */
	bool is_counted;               /* with its event */
	bool has_line;                 /* the line in front of the stack was there */
	bool is_sample;                /* with or without frames: that line has a time */
	bool has_times;                /* lines in front of stacks have a time in this text */
	bool has_period;
	uint64_t header_line;
	struct buf task;               /* what the next five point into */
	struct text comm, pid, tid, cpu, cgroup;
	struct buf event, single;      /* single: the frame of a sample without callchain */
	uint64_t weight, cpu_number;
	double time;
	struct perfscript_frame pending; /* a frame whose source line may follow */
	struct buf pending_text;
	bool has_pending;
};

static unsigned look(struct text line)
{
	struct perfscript_frame f;
	struct perfscript_header h;
	const bool is_indented = line.data[0] == ' ' || line.data[0] == '\t';

	if (text_starts(line, "# captured on") || text_starts(line, "# perf version"))
		return 4;
	if (perfscript_parse_header(line, &h) && h.has_time)
		return 4;
	if (perfscript_parse_frame(line, &f) && f.symbol.len &&
	    (is_indented || f.object.len || f.is_inlined) && !stack_is_number(f.symbol))
		return f.object.len || f.is_inlined ? 3 : 2;
	return 0;
}

/* ---- hashes ---- */

static uint64_t load64(const char *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* Both products' halves are used, as in wyhash: every input bit reaches every output bit. */
static uint64_t fold_product(uint64_t a, uint64_t b)
{
	const __uint128_t m = (__uint128_t)a * b;

	return (uint64_t)m ^ (uint64_t)(m >> 64);
}

/* Of at least 16 bytes. */
static struct known_text hash_text(struct text t, uint64_t seed)
{
	uint64_t a = t.len ^ seed ^ 0x2d358dccaa6c78a5ull, b = seed ^ 0x8bb84b93962eacc9ull;
	const char *p = t.data;

	for (size_t left = t.len; left > 16; left -= 16, p += 16) {
		const uint64_t x = load64(p), y = load64(p + 8);

		a = fold_product(a ^ x, y ^ 0x4b33a62ed433d4a3ull);
		b = fold_product(b ^ y, x ^ 0x4d5a2da51de1aa47ull);
	}
	const uint64_t x = load64(t.data + t.len - 16), y = load64(t.data + t.len - 8);

	return (struct known_text){ .hash = fold_product(a ^ x, y ^ 0xa0761d6478bd642full),
				    .check = fold_product(b ^ y, x ^ 0xe7037ed1a0b428dbull) };
}

static bool is_same(const struct known_text *a, const struct known_text *b)
{
	return a->name && a->hash == b->hash && a->check == b->check;
}

/* ---- frames ---- */

static void add_frame(struct stack_reader *r, const struct perfscript_frame *f, struct text source)
{
	stack_push(r, &(struct frame_source){
			      .symbol = f->symbol,
			      .object = f->object,
			      .line = source,
			      .address = f->address,
			      .has_address = true,
			      .is_inlined = f->is_inlined,
		      });
}

static bool has_source_lines(const struct stack_reader *r)
{
	return r->options.frame.source_lines || r->options.frame.inlined_lines;
}

static void flush_pending(struct stack_reader *r, struct text source)
{
	struct perf_reader *p = r->own;

	if (!p->has_pending)
		return;
	p->has_pending = false;
	if (text_is(source, ":0") || text_starts(source, "??:"))
		source.len = 0;
	add_frame(r, &p->pending, source);
}

/* The line's bytes may be gone when its source line comes. */
static void keep_pending(struct perf_reader *p, const struct perfscript_frame *f)
{
	buf_reset(&p->pending_text);
	buf_add(&p->pending_text, f->symbol.data, f->symbol.len);
	buf_add(&p->pending_text, f->object.data, f->object.len);
	p->pending = *f;
	p->pending.symbol.data = p->pending_text.data ? p->pending_text.data : "";
	p->pending.object.data = p->pending.symbol.data + f->symbol.len;
	p->has_pending = true;
}

/* ---- stacks ---- */

static struct stack_task task_of(const struct perf_reader *p)
{
	return (struct stack_task){ p->comm, p->pid, p->tid, p->cpu, p->cgroup };
}

/* A line that turns out to be noise must not make its words an event: counted when it's sure. */
static void count_sample(struct stack_reader *r)
{
	struct perf_reader *p = r->own;

	if (p->is_counted)
		return;
	p->is_counted = true;
	p->is_wanted = stack_count_event(r, buf_text(&p->event), p->has_period) &&
		       stack_filter_wants(r->filter, p->time, p->cpu_number);
}

static void take_frame(struct stack_reader *r, const struct perfscript_frame *f)
{
	struct perf_reader *p = r->own;

	count_sample(r);
	if (!p->is_wanted)
		return;
	if (!has_source_lines(r)) {
		add_frame(r, f, (struct text){ "", 0 });
		return;
	}
	flush_pending(r, (struct text){ "", 0 });
	keep_pending(p, f);
}

static void remember(struct perf_reader *p, uint32_t node, bool is_cut)
{
	if (!p->has_at_hand || node == FOLD_FULL)
		return;
	p->at_hand.name = node;
	p->at_hand.is_cut = is_cut;
	p->stacks[p->at_hand.hash % KNOWN_STACKS] = p->at_hand;
}

static void add_weight(struct stack_reader *r, uint32_t node, bool is_cut)
{
	const struct perf_reader *p = r->own;

	if (!stack_filter_count(r->filter, node, is_cut))
		return;
	fold_add(r->fold, node, r->options.side, p->weight);
	r->result.samples++;
}

static void fold_stack(struct stack_reader *r)
{
	struct perf_reader *p = r->own;
	const struct stack_task task = task_of(p);
	bool is_cut;
	const uint32_t root = stack_filter_root(r->filter, &task);
	const uint32_t node = stack_filter_place(r->filter, root, r->names, r->count, true,
						 &is_cut);

	add_weight(r, node, is_cut);
	if (r->line == p->at_hand_end && !r->is_deep)
		remember(p, node, is_cut);
}

static void finish(struct stack_reader *r)
{
	struct perf_reader *p = r->own;
	struct perfscript_frame f;

	if (!p->is_in_stack)
		return;
	p->is_in_stack = false;
	flush_pending(r, (struct text){ "", 0 });
	/* what its lines stand for depends on the line in front then */
	if (!r->count)
		p->has_at_hand = false;
	if (!r->count && p->single.len && perfscript_parse_frame(buf_text(&p->single), &f)) {
		count_sample(r);
		add_frame(r, &f, (struct text){ "", 0 });
	}
	if (p->is_sample)
		count_sample(r);
	if (!p->is_counted)
		stack_skip_line_at(r, p->header_line, "neither a sample nor a frame");
	else if (p->is_wanted)
		fold_stack(r);
	r->count = 0;
	p->has_at_hand = false;
}

static void begin(struct stack_reader *r)
{
	struct perf_reader *p = r->own;

	p->lines = mem_alloc(KNOWN_LINES * sizeof(*p->lines));
	p->stacks = mem_alloc(KNOWN_STACKS * sizeof(*p->stacks));
}

static struct text kept(struct buf *b, size_t *at, struct text t)
{
	const struct text copy = { b->data + *at, t.len };

	*at += t.len;
	return copy;
}

static void keep_task(struct perf_reader *p, const struct perfscript_header *h)
{
	size_t at = 0;

	buf_reset(&p->task);
	buf_add(&p->task, h->comm.data, h->comm.len);
	buf_add(&p->task, h->pid.data, h->pid.len);
	buf_add(&p->task, h->tid.data, h->tid.len);
	buf_add(&p->task, h->cpu.data, h->cpu.len);
	buf_add(&p->task, h->cgroup.data, h->cgroup.len);
	buf_reserve(&p->task, 1);
	p->comm = kept(&p->task, &at, h->comm);
	p->pid = kept(&p->task, &at, h->pid);
	p->tid = kept(&p->task, &at, h->tid);
	p->cpu = kept(&p->task, &at, h->cpu);
	p->cgroup = kept(&p->task, &at, h->cgroup);
}

/* h: what the line in front of the stack says; is_line: there is one. */
static void start(struct stack_reader *r, const struct perfscript_header *h, bool is_line)
{
	struct perf_reader *p = r->own;

	p->is_in_stack = true;
	p->has_line = is_line;
	p->is_sample = h->has_time;
	p->has_times |= h->has_time;
	p->is_counted = p->has_at_hand = false;
	p->header_line = r->line;
	p->has_period = !is_na_u64(h->period);
	p->weight = p->has_period && !r->options.weighs_samples ? h->period : 1;
	p->time = h->time;
	if (!scan_all_u64(h->cpu, &p->cpu_number))
		p->cpu_number = NA_U64;
	keep_task(p, h);
	buf_reset(&p->single);
	buf_add(&p->single, h->frame.data, h->frame.len);
	buf_reset(&p->event);
	buf_add(&p->event, h->event.data, h->event.len);
	if (p->is_sample)
		count_sample(r);
}

/* A line that begins with a tab, in a stack. False: it is no frame. */
static bool take_frame_line(struct stack_reader *r, struct text line)
{
	struct perf_reader *p = r->own;
	struct perfscript_frame f;
	struct known_text *known = NULL, this;

	if (line.len >= 16 && !has_source_lines(r)) {
		this = hash_text(line, 0);
		known = &p->lines[this.hash % KNOWN_LINES];
		if (is_same(known, &this)) {
			count_sample(r);
			if (p->is_wanted && !stack_is_full(r)) {
				r->names = mem_grow(r->names, &r->cap, r->count + 1,
						    sizeof(*r->names));
				r->names[r->count++] = known->name;
			}
			return true;
		}
	}
	if (!perfscript_parse_frame(line, &f))
		return false;
	const size_t before = r->count;

	take_frame(r, &f);
	if (known && r->count == before + 1 && r->names[before] != FOLD_FULL) {
		*known = this;
		known->name = r->names[before];
	}
	return true;
}

/* ---- lines ---- */

static bool is_frame_start(char c)
{
	return c == '\t' || c == ' ';
}

/* The lines up to the next empty one, all of which begin like frames; 0: not so, or not here. */
static size_t stack_length(struct text rest, uint64_t *lines)
{
	const char *at = rest.data, *end = rest.data + rest.len;

	*lines = 0;
	while (at < end && is_frame_start(*at)) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));

		if (!newline)
			return 0;
		++*lines;
		at = newline + 1;
	}
	return at < end && *at == '\n' ? (size_t)(at - rest.data) : 0;
}

/* A stack that came before, as a whole. */
static size_t perf_lines(struct stack_reader *r, struct text rest)
{
	struct perf_reader *p = r->own;
	uint64_t lines;

	if (!p->is_in_stack || p->header_line != r->line || !p->has_line ||
	    (p->is_counted && !p->is_wanted))
		return 0;
	const size_t len = stack_length(rest, &lines);

	if (len < 16)
		return 0;
	const struct stack_task task = task_of(p);
	const uint64_t seed = stack_filter_root(r->filter, &task) * 0x2d358dccaa6c78a5ull;

	p->at_hand = hash_text((struct text){ rest.data, len }, seed);
	const struct known_text *known = &p->stacks[p->at_hand.hash % KNOWN_STACKS];

	if (!is_same(known, &p->at_hand)) {
		p->has_at_hand = true;
		p->at_hand_end = r->line + lines + 1;
		return 0;
	}
	count_sample(r);
	if (p->is_wanted)
		add_weight(r, known->name, known->is_cut);
	p->is_in_stack = false;
	r->line += lines + 1;
	return len + 1;
}

static void skip(struct stack_reader *r)
{
	((struct perf_reader *)r->own)->has_at_hand = false;
	stack_skip_line(r, "neither a sample nor a frame");
}

static void take_header(struct stack_reader *r, struct text line)
{
	struct perf_reader *p = r->own;
	struct perfscript_header h = perfscript_nothing();
	const bool is_header = perfscript_parse_header(line, &h);

	/*
	 * Where samples have times what has none is a message that went to the same file; so is, in
	 * a stack that no empty line has ended, what names neither a thread nor a CPU.
	 */
	const bool is_bare = is_header && !h.has_time && !h.is_task_record;
	const bool cuts_stack = p->is_in_stack && p->is_counted && !h.tid.len && !h.cpu.len;

	if (!is_header || (is_bare && (p->has_times || cuts_stack))) {
		skip(r);
		return;
	}
	finish(r);
	r->result.lost_samples += h.lost;
	if (!h.is_task_record)
		start(r, &h, true);
}

/* A line in a stack that is indented and no frame: where the frame before is, or a cgroup. */
static void take_other(struct stack_reader *r, struct text line)
{
	struct perf_reader *p = r->own;
	const struct text t = stack_trimmed(line);

	if (!p->cgroup.len && t.data[0] == '/' && line.data[0] == ' ' && line.data[1] == '/') {
		buf_add(&p->task, t.data, t.len);
		/* the others point into what may have moved */
		const struct stack_task old = task_of(p);
		const char *data = p->task.data;

		p->comm.data = data;
		p->pid.data = data + old.comm.len;
		p->tid.data = p->pid.data + old.pid.len;
		p->cpu.data = p->tid.data + old.tid.len;
		p->cgroup = (struct text){ p->cpu.data + old.cpu.len, t.len };
	} else if (has_source_lines(r)) {
		flush_pending(r, t);
	}
}

static void perf_line(struct stack_reader *r, struct text line)
{
	struct perf_reader *p = r->own;
	struct perfscript_frame f;
	struct perfscript_header h;

	if (!line.len || !stack_trimmed(line).len) {
		finish(r);
		return;
	}
	if (line.data[0] == '#')
		return;
	if (p->is_in_stack && line.data[0] == '\t' && take_frame_line(r, line))
		return;
	const bool is_indented = is_frame_start(line.data[0]);
	const bool looks_like_frame = perfscript_parse_frame(line, &f);
	const bool has_time = perfscript_parse_header(line, &h) && h.has_time;

	if (has_time || (!looks_like_frame && !p->is_in_stack)) {
		take_header(r, line);
	} else if (looks_like_frame && (p->is_in_stack || is_indented)) {
		h = perfscript_nothing();
		if (!p->is_in_stack)
			start(r, &h, false);
		take_frame(r, &f);
	} else if (p->is_in_stack && is_indented) {
		take_other(r, line);
	} else {
		take_header(r, line);
	}
}

/* A clock's periods are nanoseconds; those of other events are what the event's name says. */
static void perf_end(struct stack_reader *r)
{
	finish(r);
	for (size_t i = 0; i < r->result.event_count; i++) {
		struct stack_event *e = &r->result.events[i];
		const struct text name = text_of(e->name);

		if (e->has_period &&
		    (text_starts(name, "cpu-clock") || text_starts(name, "task-clock")))
			e->unit = "ns";
	}
}

static void perf_free(struct stack_reader *r)
{
	struct perf_reader *p = r->own;

	free(p->lines);
	free(p->stacks);
	buf_free(&p->task);
	buf_free(&p->event);
	buf_free(&p->single);
	buf_free(&p->pending_text);
}

const struct stack_format stack_format_perf_script = {
	.name = "perf script",
	.own_size = sizeof(struct perf_reader),
	.look = look,
	.begin = begin,
	.line = perf_line,
	.lines = perf_lines,
	.end = perf_end,
	.free = perf_free,
};
