/* perf script's text, stack by stack. */
#include <stdlib.h>
#include <string.h>

#include "common/base/na.h"
#include "common/stack/perfscript.h"
#include "common/stack/stacktext_impl.h"

/*
 * Lines of frames come again and again, address and all. One that came lately is known by a hash
 * of 128 bits of its bytes, without being taken apart: three times as fast.
 */
#define KNOWN_LINES (1u << 15)

struct known_line {
	uint64_t hash, check;
	uint32_t name;                 /* 0: free */
};

struct perf_reader {
	struct known_line *known;
	bool is_in_stack;
	bool is_wanted;                /* its event is the one that is folded */
	bool has_line;                 /* the line in front of the stack was there */
	bool is_sample;                /* that line had a time or an event */
	uint64_t header_line;
	struct buf root, single;       /* single: the frame of a sample without callchain */
	uint64_t weight;
	uint32_t *names;               /* leaf first */
	size_t count, cap;
	struct perfscript_frame pending; /* a frame whose source line may follow */
	struct buf pending_text;
	bool has_pending;
};

void stack_perf_script_look(struct text line, unsigned *frames, unsigned *headers)
{
	struct perfscript_frame f;
	struct perfscript_header h;
	const bool is_indented = line.data[0] == ' ' || line.data[0] == '\t';

	if (perfscript_parse_header(line, &h) && h.has_time)
		++*headers;
	else if (perfscript_parse_frame(line, &f) && f.symbol.len &&
		 (is_indented || f.object.len || f.is_inlined))
		++*frames;
}

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
static struct known_line hash_line(struct text t)
{
	uint64_t a = t.len ^ 0x2d358dccaa6c78a5ull, b = 0x8bb84b93962eacc9ull;
	const char *p = t.data;

	for (size_t left = t.len; left > 16; left -= 16, p += 16) {
		const uint64_t x = load64(p), y = load64(p + 8);

		a = fold_product(a ^ x, y ^ 0x4b33a62ed433d4a3ull);
		b = fold_product(b ^ y, x ^ 0x4d5a2da51de1aa47ull);
	}
	const uint64_t x = load64(t.data + t.len - 16), y = load64(t.data + t.len - 8);

	return (struct known_line){ .hash = fold_product(a ^ x, y ^ 0xa0761d6478bd642full),
				    .check = fold_product(b ^ y, x ^ 0xe7037ed1a0b428dbull) };
}

static void add_frame(struct stack_reader *r, const struct perfscript_frame *f, struct text source)
{
	struct perf_reader *p = r->own;
	uint32_t names[FRAME_NAMES_MAX];

	if (p->count >= STACK_FRAMES_MAX)
		return;
	size_t n = frame_names(r->fold, &r->options.frame,
			       &(struct frame_source){
				       .symbol = f->symbol,
				       .object = f->object,
				       .line = source,
				       .address = f->address,
				       .has_address = true,
				       .is_inlined = f->is_inlined,
			       },
			       names);

	p->names = mem_grow(p->names, &p->cap, p->count + n, sizeof(*p->names));
	while (n)
		p->names[p->count++] = names[--n];
}

static void flush_pending(struct stack_reader *r, struct text source)
{
	struct perf_reader *p = r->own;

	if (!p->has_pending)
		return;
	p->has_pending = false;
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

static void take_frame(struct stack_reader *r, const struct perfscript_frame *f)
{
	struct perf_reader *p = r->own;

	if (!p->is_wanted)
		return;
	if (!r->options.frame.source_lines) {
		add_frame(r, f, (struct text){ "", 0 });
		return;
	}
	flush_pending(r, (struct text){ "", 0 });
	keep_pending(p, f);
}

static void finish(struct stack_reader *r)
{
	struct perf_reader *p = r->own;
	struct perfscript_frame f;

	if (!p->is_in_stack)
		return;
	p->is_in_stack = false;
	flush_pending(r, (struct text){ "", 0 });
	if (!p->count && p->single.len && p->is_wanted &&
	    perfscript_parse_frame(buf_text(&p->single), &f))
		add_frame(r, &f, (struct text){ "", 0 });
	if (!p->count && p->has_line && !p->is_sample) {
		const uint64_t line = r->line;

		r->line = p->header_line;
		stack_skip_line(r, "neither a sample nor a frame");
		r->line = line;
	} else if (p->is_wanted && (p->count || p->is_sample)) {
		stack_fold(r, buf_text(&p->root), p->names, p->count, true, p->weight);
	}
	p->count = 0;
}

static void begin(struct stack_reader *r)
{
	((struct perf_reader *)r->own)->known = mem_alloc(KNOWN_LINES * sizeof(struct known_line));
}

static void start(struct stack_reader *r, const struct perfscript_header *h)
{
	struct perf_reader *p = r->own;
	const bool has_period = h && h->period != NA_U64;

	p->is_in_stack = true;
	p->has_line = h != NULL;
	p->is_sample = h && (h->has_time || h->event.len);
	p->header_line = r->line;
	p->weight = has_period && !r->options.weighs_samples ? h->period : 1;
	buf_reset(&p->single);
	buf_reset(&p->root);
	if (!h) {
		p->is_wanted = stack_count_event(r, TEXT(""), false);
		return;
	}
	/* a line that turns out to be noise must not make the event without a name the first */
	p->is_wanted = !p->is_sample || stack_count_event(r, h->event, has_period);
	stack_root(&r->options, &p->root, h->comm, h->pid, h->tid, h->cpu);
	buf_add(&p->single, h->frame.data, h->frame.len);
}

/* A line that begins with a tab, in a stack. False: it is no frame. */
static bool take_frame_line(struct stack_reader *r, struct text line)
{
	struct perf_reader *p = r->own;
	struct perfscript_frame f;
	struct known_line *known = NULL, this;

	if (line.len >= 16 && !r->options.frame.source_lines) {
		this = hash_line(line);
		known = &p->known[this.hash % KNOWN_LINES];
		if (known->name && known->hash == this.hash && known->check == this.check) {
			if (p->is_wanted && p->count < STACK_FRAMES_MAX) {
				p->names = mem_grow(p->names, &p->cap, p->count + 1,
						    sizeof(*p->names));
				p->names[p->count++] = known->name;
			}
			return true;
		}
	}
	if (!perfscript_parse_frame(line, &f))
		return false;
	const size_t before = p->count;

	take_frame(r, &f);
	if (known && p->count == before + 1 && p->names[before] != FOLD_FULL) {
		*known = this;
		known->name = p->names[before];
	}
	return true;
}

static bool is_blank_line(struct text line)
{
	for (size_t i = 0; i < line.len; i++)
		if (line.data[i] != ' ' && line.data[i] != '\t' && line.data[i] != '\r')
			return false;
	return true;
}

static void take_header(struct stack_reader *r, struct text line)
{
	struct perfscript_header h;

	finish(r);
	if (!perfscript_parse_header(line, &h)) {
		stack_skip_line(r, "neither a sample nor a frame");
		return;
	}
	if (!h.is_task_record)
		start(r, &h);
}

static void perf_line(struct stack_reader *r, struct text line, bool is_whole)
{
	struct perf_reader *p = r->own;
	struct perfscript_frame f;
	struct perfscript_header h;
	const bool is_indented = line.len && (line.data[0] == ' ' || line.data[0] == '\t');

	(void)is_whole;
	if (is_blank_line(line)) {
		finish(r);
		return;
	}
	if (line.data[0] == '#')
		return;
	if (p->is_in_stack && line.data[0] == '\t' && take_frame_line(r, line))
		return;
	const bool looks_like_frame = perfscript_parse_frame(line, &f);
	const bool has_time = perfscript_parse_header(line, &h) && h.has_time;

	if (has_time || (!looks_like_frame && !p->is_in_stack)) {
		take_header(r, line);
	} else if (looks_like_frame && (p->is_in_stack || is_indented)) {
		if (!p->is_in_stack)
			start(r, NULL);
		take_frame(r, &f);
	} else if (p->is_in_stack && is_indented) {
		if (r->options.frame.source_lines) /* "  file.c:12" */
			flush_pending(r, (struct text){ line.data + 2, line.len - 2 });
	} else {
		take_header(r, line);
	}
}

static void perf_free(struct stack_reader *r)
{
	struct perf_reader *p = r->own;

	free(p->known);
	free(p->names);
	buf_free(&p->root);
	buf_free(&p->single);
	buf_free(&p->pending_text);
}

const struct stack_format stack_format_perf_script = {
	.name = "perf script",
	.own_size = sizeof(struct perf_reader),
	.begin = begin,
	.line = perf_line,
	.end = finish,
	.free = perf_free,
};
