/*
 * /proc/PID/stack (fs/proc/base.c, proc_pid_stack), one or many: "[<0>] do_wait+0x5c/0xf0", leaf
 * first; before 4.11 or so with addresses, and [<ffffffffffffffff>] at the end. Between stacks an
 * empty line, or what tells them apart: "==> /proc/12/stack <==" of tail, "/proc/12/stack:" in
 * front of each line of grep. Each counts 1.
 */
#include <stdlib.h>
#include <string.h>

#include "common/base/na.h"
#include "common/base/scan.h"
#include "common/stack/stacktext_impl.h"

struct proc_reader {
	struct buf pid;
};

/* "[<0>] name+0x1/0x2 [module]" */
static bool parse_frame(struct text t, struct frame_source *f)
{
	struct text before, rest;
	struct scan s = scan_of(t);
	const struct text none = { "", 0 };

	*f = (struct frame_source){ .symbol = none, .object = TEXT("[kernel]"), .line = none };
	if (!scan_literal(&s, "[<") || !scan_hex(&s, &f->address) || !scan_literal(&s, ">]"))
		return false;
	f->has_address = f->address != 0;
	rest = stack_trimmed(scan_rest(&s));
	f->symbol = stack_take_word(&rest);
	if (stack_split(f->symbol, "/0x", &before, &rest))
		f->symbol = before;
	f->symbol = frame_without_offset(f->symbol);
	return f->symbol.len > 0;
}

static unsigned look(struct text line)
{
	struct frame_source f;
	const char *bracket = memmem(line.data, line.len, "[<", 2);
	const struct text t = { bracket ? bracket : line.data,
				bracket ? (size_t)(line.data + line.len - bracket) : 0 };

	return parse_frame(t, &f) && (bracket == line.data || text_starts(line, "/proc/")) ? 6 : 0;
}

static void finish(struct stack_reader *r)
{
	struct proc_reader *p = r->own;
	const struct text none = { "", 0 };
	const struct stack_task task = { none, buf_text(&p->pid), buf_text(&p->pid), none,
					 none };

	if (r->count && stack_count_event(r, TEXT(""), false) &&
	    stack_filter_wants(r->filter, NA_F64, NA_U64))
		stack_emit(r, &task, 1);
	r->count = 0;
}

/* "/proc/12/stack" or "/proc/12/task/13/stack": the last number; another one ends the stack. */
static void take_path(struct stack_reader *r, struct text path)
{
	struct proc_reader *p = r->own;
	struct text before, rest, digits = { "", 0 };

	while (stack_split(path, "/", &before, &rest)) {
		if (stack_is_number(before))
			digits = before;
		path = rest;
	}
	if (p->pid.len == digits.len &&
	    (!digits.len || !memcmp(p->pid.data, digits.data, digits.len)))
		return;
	finish(r);
	buf_reset(&p->pid);
	buf_add(&p->pid, digits.data, digits.len);
}

static void proc_line(struct stack_reader *r, struct text line)
{
	struct text t = stack_trimmed(line), path, rest;
	struct frame_source f;

	if (!t.len) {
		finish(r);
		return;
	}
	if (stack_take_prefix(&t, "==> ") && stack_split(t, " <==", &path, &rest)) {
		finish(r);
		take_path(r, path);
		return;
	}
	if (t.data[0] == '/' && stack_split(t, ":", &path, &rest)) {
		take_path(r, path);
		t = rest;
	}
	if (!parse_frame(t, &f)) {
		finish(r);
		stack_skip_line(r, "no frame of the kernel's");
	} else if (f.address == UINT64_MAX || text_is(f.symbol, "0xffffffffffffffff")) {
		finish(r);
	} else {
		stack_push(r, &f);
	}
}

static void proc_free(struct stack_reader *r)
{
	buf_free(&((struct proc_reader *)r->own)->pid);
}

const struct stack_format stack_format_proc = {
	.name = "/proc/PID/stack",
	.own_size = sizeof(struct proc_reader),
	.look = look,
	.line = proc_line,
	.end = finish,
	.free = proc_free,
};
