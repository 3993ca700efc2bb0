/*
 * What debuggers print of threads that stand still: gdb's `thread apply all bt` (and pstack), and
 * eu-stack. Each thread's stack counts 1.
 *
 *     Thread 2 (Thread 0x7f12 (LWP 123) "name"):         TID 123:
 *     #0  0x00007f12 in poll () from /lib/libc.so.6      #0  0x00007f12 __poll - /lib/libc.so.6
 *     #1  ns::run (this=0x1) at run.cc:12                #1  0x00005612 - 1 run - /bin/x
 */
#include <stdlib.h>
#include <string.h>

#include "common/base/na.h"
#include "common/base/scan.h"
#include "common/stack/stacktext_impl.h"

struct debugger_reader {
	struct buf comm, tid, pid;
};

/* "#12  " taken off. */
static bool take_number(struct text *t, uint64_t *number)
{
	struct scan s = scan_of(*t);

	if (!scan_literal(&s, "#") || !scan_u64(&s, number) || s.at == s.end || *s.at != ' ')
		return false;
	*t = stack_trimmed(scan_rest(&s));
	return true;
}

static unsigned look(struct text line)
{
	struct text t = line;
	uint64_t number;

	if (take_number(&t, &number))
		return 3;
	return text_starts(line, "Thread ") || text_starts(line, "TID ") ? 2 : 0;
}

static bool is_name_byte(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
	       c == '_' || c == '$';
}

/* What follows "operator" and may hold brackets of its own: "()", "<<", "->" ... */
static size_t operator_length(struct text t)
{
	size_t n = 0;

	if (text_starts(t, "()"))
		return 2;
	while (n < t.len && n < 3 && memchr("<>=-+*/%^&|~!,[]", t.data[n], 16))
		n++;
	return n;
}

/* Where the " (" that begins the list of values is: at bracket depth 0. t.len: there is none. */
static size_t find_values(struct text t)
{
	static const char word[] = "operator";
	const size_t n = sizeof(word) - 1;
	size_t depth = 0;

	for (size_t i = 0; i < t.len; i++) {
		const char c = t.data[i];

		if (t.len - i > n && !memcmp(t.data + i, word, n) &&
		    (!i || !is_name_byte(t.data[i - 1])) && !is_name_byte(t.data[i + n]))
			i += n - 1 + operator_length((struct text){ t.data + i + n,
								    t.len - i - n });
		else if (c == ' ' && !depth && i && i + 1 < t.len && t.data[i + 1] == '(')
			return i;
		else if (c == '<' || c == '(' || c == '{' || c == '[')
			depth++;
		else if (depth && (c == '>' || c == ')' || c == '}' || c == ']'))
			depth--;
	}
	return t.len;
}

/* "poll () from /lib/libc.so.6", "run (this=0x1) at run.cc:12" */
static void take_gdb(struct text t, struct frame_source *f)
{
	const size_t values = find_values(t);
	struct text before, place = { t.data + values, t.len - values };

	f->symbol = (struct text){ t.data, values };
	if (stack_split(place, ") at ", &before, &place))
		f->line = stack_trimmed(place);
	else if (stack_split(place, ") from ", &before, &place))
		f->object = stack_trimmed(place);
	f->line = stack_base_name(f->line);
}

/* "[- 1] name - /lib/libc.so.6 [- build id]", any of it */
static void take_eu_stack(struct text t, struct frame_source *f)
{
	struct text name, object, rest;

	if (stack_take_prefix(&t, "- 1"))
		t = stack_trimmed(t);
	if (stack_take_prefix(&t, "- ")) {
		f->object = stack_take_word(&t);
		return;
	}
	f->symbol = t;
	if (!stack_split(t, " - ", &name, &object))
		return;
	f->symbol = name;
	f->object = stack_split(object, " - ", &name, &rest) ? name : object;
}

static void take_frame(struct stack_reader *r, struct text t)
{
	const struct text none = { "", 0 };
	struct frame_source f = { .symbol = none, .object = none, .line = none };
	struct scan s = scan_of(t);

	if (scan_literal(&s, "0x") && scan_hex(&s, &f.address)) {
		f.has_address = true;
		t = stack_trimmed(scan_rest(&s));
		if (stack_take_prefix(&t, "in "))
			take_gdb(stack_trimmed(t), &f);
		else
			take_eu_stack(t, &f);
	} else {
		take_gdb(t, &f);
	}
	stack_push(r, &f);
}

static void finish(struct stack_reader *r)
{
	struct debugger_reader *p = r->own;
	const struct text none = { "", 0 };
	const struct stack_task task = { buf_text(&p->comm), buf_text(&p->pid), buf_text(&p->tid),
					 none, none };

	if (r->count && stack_count_event(r, TEXT(""), false) &&
	    stack_filter_wants(r->filter, NA_F64, NA_U64))
		stack_emit(r, &task, 1);
	r->count = 0;
}

static void set(struct buf *b, struct text t)
{
	buf_reset(b);
	buf_add(b, t.data, t.len);
}

static struct text number_behind(struct text t, const char *word)
{
	struct text before, rest, number = { "", 0 };

	if (!stack_split(t, word, &before, &rest))
		return number;
	number.data = rest.data;
	while (number.len < rest.len && rest.data[number.len] >= '0' &&
	       rest.data[number.len] <= '9')
		number.len++;
	return number;
}

/* "Thread 2 (Thread 0x7f12 (LWP 123) "name"):", "Thread 1 (process 12):", "TID 12:" */
static bool take_thread(struct stack_reader *r, struct text t)
{
	struct debugger_reader *p = r->own;
	struct text before, name, rest;

	if (text_starts(t, "PID ")) {
		finish(r);
		set(&p->pid, number_behind(t, "PID "));
	} else if (text_starts(t, "TID ")) {
		finish(r);
		set(&p->tid, number_behind(t, "TID "));
	} else if (text_starts(t, "Thread ")) {
		finish(r);
		set(&p->tid, number_behind(t, "LWP "));
		if (!p->tid.len)
			set(&p->tid, number_behind(t, "process "));
		buf_reset(&p->comm);
		if (stack_split(t, "\"", &before, &rest) && stack_split(rest, "\"", &name, &rest))
			set(&p->comm, name);
	} else {
		return false;
	}
	return true;
}

static void debugger_line(struct stack_reader *r, struct text line)
{
	struct text t = stack_trimmed(line);
	uint64_t number;

	if (!t.len)
		return;
	if (take_number(&t, &number)) {
		if (!number)
			finish(r);
		take_frame(r, t);
	} else if (!take_thread(r, t) && t.data[0] != '[' &&
		   !(r->count && (line.data[0] == ' ' || line.data[0] == '\t'))) {
		/* what is indented goes on with a frame; "[New LWP 12]" is gdb's own */
		stack_skip_line(r, "neither a thread nor a frame");
	}
}

static void debugger_free(struct stack_reader *r)
{
	struct debugger_reader *p = r->own;

	buf_free(&p->comm);
	buf_free(&p->tid);
	buf_free(&p->pid);
}

const struct stack_format stack_format_debugger = {
	.name = "a debugger's backtraces (gdb, eu-stack)",
	.own_size = sizeof(struct debugger_reader),
	.look = look,
	.line = debugger_line,
	.end = finish,
	.free = debugger_free,
};
