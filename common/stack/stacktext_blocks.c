/*
 * Paragraphs of frames, leaf first, with a count behind or in front of them:
 *
 *     dtrace          libc.so.1`__read+0xa         bcc (profile,     finish_task_switch
 *                     genunix`syscall_mstate       offcputime ...)   schedule
 *                      12                                            -                sshd (1234)
 *                                                                        13
 *     bcc (mallocstacks, memleak)                  bcc (offwaketime, wakeuptime)
 *     624 bytes allocated at:                          waker:           sshd 12
 *             malloc+0x0                               ffffffff81002031 try_to_wake_up
 *             main+0x12                                --               --
 *                                                      schedule
 *                                                      target:          sshd 34
 *                                                          12
 *
 * Who it was is the root frame if it stands last, else (a waker) a frame like others. dtrace may
 * have an empty line between the kernel's stack and the user's, and a key ("bash") in front, less
 * indented.
 */
#include <stdlib.h>
#include <string.h>

#include "common/base/na.h"
#include "common/base/scan.h"
#include "common/stack/stacktext_impl.h"

struct blocks_reader {
	struct buf lines;              /* of the paragraph, each with a newline */
	uint64_t first_line;           /* its number */
	bool has_weight;               /* it stood in front */
	uint64_t weight;
	bool has_indented;
	bool is_dtrace;                /* the last line was a frame with a "`" */
};

/* "12 bytes allocated at:", "24 bytes in 3 allocations from stack" */
static bool is_weight_line(struct text t, uint64_t *weight)
{
	struct text rest = stack_trimmed(t), word = stack_take_word(&rest);

	return scan_all_u64(word, weight) && stack_take_prefix(&rest, "bytes ") &&
	       (text_starts(rest, "allocated at:") ||
		(text_starts(rest, "in ") && memmem(rest.data, rest.len, " from stack", 11)));
}

static bool is_indented(struct text line)
{
	return line.len && (line.data[0] == ' ' || line.data[0] == '\t');
}

static unsigned look(struct text line)
{
	struct text t = stack_trimmed(line);
	uint64_t weight;

	if (is_weight_line(t, &weight))
		return STACK_CERTAIN;
	if (!is_indented(line))
		return 0;
	if (stack_is_number(t) || memchr(t.data, '`', t.len))
		return 2;
	return memchr(t.data, ' ', t.len) ? 0 : 1;
}

/* Python's way to show bytes: b'name' */
static struct text without_quotes(struct text t)
{
	if (t.len > 3 && t.data[0] == 'b' && (t.data[1] == '\'' || t.data[1] == '"') &&
	    t.data[t.len - 1] == t.data[1])
		return (struct text){ t.data + 2, t.len - 3 };
	return t;
}

/* The last "(123)", "[123]" or " 123" is an id; taken off. */
static struct text take_id(struct text *t)
{
	struct text id = *t;
	size_t from = t->len;
	const bool is_closed = t->len > 2 && strchr(")]", t->data[t->len - 1]);

	if (is_closed)
		from--;
	id.len = from;
	while (from && t->data[from - 1] >= '0' && t->data[from - 1] <= '9')
		from--;
	id = (struct text){ t->data + from, id.len - from };
	if (!id.len || from < 2)
		return (struct text){ "", 0 };
	if (is_closed) {
		if (t->data[from - 1] != (t->data[t->len - 1] == ')' ? '(' : '['))
			return (struct text){ "", 0 };
		from--;
	}
	if (t->data[from - 1] != ' ')
		return (struct text){ "", 0 };
	*t = stack_trimmed((struct text){ t->data, from });
	return id;
}

/* "-   comm (12)", "target:   comm 12", "waker:   comm", "comm [12]" */
static bool is_task(struct text t, struct stack_task *task)
{
	const bool is_named = stack_take_prefix(&t, "target:") || stack_take_prefix(&t, "waker:") ||
			      (text_starts(t, "-  ") && stack_take_prefix(&t, "-"));

	t = stack_trimmed(t);
	const bool is_closed = stack_ends_with(t, ']');
	const struct text pid = take_id(&t);

	if (!t.len || (!is_named && !(is_closed && pid.len)))
		return false;
	*task = (struct stack_task){ .comm = without_quotes(t), .pid = pid, .tid = { "", 0 },
				     .cpu = { "", 0 }, .cgroup = { "", 0 } };
	return true;
}

/* "ffffffff81002031 name", "name+0x12 [module]", "module`name+0x12", "0x7f12", b'name' */
static void push_frame(struct stack_reader *r, struct text t)
{
	struct frame_source f = { .symbol = t, .object = { "", 0 }, .line = { "", 0 } };
	struct stack_task task;
	struct text rest = t, word = stack_take_word(&rest);
	struct scan s = scan_of(word);

	if (is_task(t, &task)) {
		f.symbol = task.comm;
	} else if (rest.len && scan_hex(&s, &f.address) && s.at == s.end && word.len >= 8) {
		f.has_address = true;
		f.symbol = rest;
	}
	f.symbol = without_quotes(f.symbol);
	if (stack_ends_with(f.symbol, ']') && f.symbol.data[0] != '[') {
		const char *open = memrchr(f.symbol.data, '[', f.symbol.len);

		if (open && open > f.symbol.data + 1 && open[-1] == ' ') {
			f.object = (struct text){ open + 1, (size_t)(f.symbol.data + f.symbol.len -
								     open - 2) };
			f.symbol.len = (size_t)(open - f.symbol.data - 1);
			if (text_is(f.object, "kernel"))
				f.object = TEXT("[kernel]");
		}
	}
	f.symbol = frame_without_offset(stack_trimmed(without_quotes(f.symbol)));
	stack_push(r, &f);
}

static struct text next_line(struct scan *s, uint64_t *number)
{
	struct text line = { "", 0 };

	scan_line(s, &line);
	++*number;
	return line;
}

static size_t indent_of(struct text line)
{
	size_t n = 0;

	while (n < line.len && (line.data[n] == ' ' || line.data[n] == '\t'))
		n++;
	return n;
}

/* dtrace's key in front of a stack: a line less indented than the frame behind it. */
static bool is_key(struct text line, struct scan rest)
{
	struct text next;

	return scan_line(&rest, &next) && !memchr(line.data, '`', line.len) &&
	       memchr(next.data, '`', next.len) && indent_of(line) < indent_of(next);
}

/* "     8192 |@@@@@@      12", "value  ---- Distribution ---- count" */
static bool is_histogram_row(struct text t)
{
	const char *bar = memchr(t.data, '|', t.len);

	if (memmem(t.data, t.len, "- Distribution -", 16))
		return true;
	return bar && t.data[t.len - 1] >= '0' && t.data[t.len - 1] <= '9' &&
	       stack_is_number(stack_trimmed((struct text){ t.data, (size_t)(bar - t.data) }));
}

/* The paragraph without its count. A line that stands out to the left of frames is none. */
static void fold_block(struct stack_reader *r, uint64_t weight)
{
	struct blocks_reader *p = r->own;
	struct scan s = scan_of(buf_text(&p->lines));
	struct stack_task task = { { "", 0 }, { "", 0 }, { "", 0 }, { "", 0 }, { "", 0 } }, last;
	uint64_t number = p->first_line - 1;

	r->count = 0;
	while (s.at < s.end) {
		const struct text line = next_line(&s, &number), t = stack_trimmed(line);

		if (p->has_indented && !is_indented(line))
			stack_skip_line_at(r, number, "no frame");
		else if (s.at == s.end && is_task(t, &last))
			task = last;
		else if (!r->count && is_key(line, s))
			task.comm = t;
		else if (text_starts(t, "--"))
			stack_push_symbol(r, TEXT("--"));
		else
			push_frame(r, t);
	}
	if (stack_count_event(r, TEXT(""), true) && stack_filter_wants(r->filter, NA_F64, NA_U64))
		stack_emit(r, &task, r->options.weighs_samples ? 1 : weight);
	r->count = 0;
}

static void forget(struct blocks_reader *p)
{
	buf_reset(&p->lines);
	p->has_weight = p->has_indented = p->is_dtrace = false;
}

static void skip_block(struct stack_reader *r)
{
	struct blocks_reader *p = r->own;
	struct scan s = scan_of(buf_text(&p->lines));
	uint64_t number = p->first_line - 1;

	while (s.at < s.end) {
		next_line(&s, &number);
		stack_skip_line_at(r, number, "no count with these lines");
	}
	forget(p);
}

static void end_block(struct stack_reader *r)
{
	struct blocks_reader *p = r->own;

	if (p->has_weight) {
		fold_block(r, p->weight);
		forget(p);
	} else {
		skip_block(r);
	}
}

static void blocks_line(struct stack_reader *r, struct text line)
{
	struct blocks_reader *p = r->own;
	const struct text t = stack_trimmed(line);
	uint64_t weight;

	if (!t.len) {
		if (!p->is_dtrace || p->has_weight)
			end_block(r);
	} else if (is_histogram_row(t)) {
		skip_block(r);
		stack_skip_line(r, "a histogram is no count");
	} else if (is_weight_line(t, &weight)) {
		end_block(r);
		p->has_weight = true;
		p->weight = weight;
		p->first_line = r->line + 1;
	} else if (!p->has_weight && scan_all_u64(t, &weight)) {
		fold_block(r, weight);
		forget(p);
	} else if (p->lines.len > STACK_LINE_MAX) {
		stack_skip_line(r, "more than 16 MiB of lines without a count");
	} else {
		if (!p->lines.len)
			p->first_line = r->line;
		p->has_indented |= is_indented(line);
		p->is_dtrace = memchr(t.data, '`', t.len) != NULL;
		buf_add(&p->lines, line.data, line.len);
		buf_add_char(&p->lines, '\n');
	}
}

static void blocks_free(struct stack_reader *r)
{
	buf_free(&((struct blocks_reader *)r->own)->lines);
}

const struct stack_format stack_format_blocks = {
	.name = "stacks with a count each (bcc, dtrace)",
	.own_size = sizeof(struct blocks_reader),
	.look = look,
	.line = blocks_line,
	.end = end_block,
	.free = blocks_free,
};
