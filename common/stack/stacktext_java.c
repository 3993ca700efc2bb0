/*
 * jstack, jcmd Thread.print, a JVM's dump on SIGQUIT: each thread's stack counts 1, whatever the
 * thread's state.
 *
 *     "pool-1-thread-7" #12 daemon prio=5 os_prio=0 tid=0x7f12 nid=0x3039 runnable [0x7f12]
 *        java.lang.Thread.State: RUNNABLE
 *     	at java.io.FileInputStream.readBytes(java.base@17/Native Method)
 *     	at app.Main.run(Main.java:12)
 *     	- locked <0x12> (a java.lang.Object)
 */
#include <stdlib.h>
#include <string.h>

#include "common/base/na.h"
#include "common/base/scan.h"
#include "common/stack/stacktext_impl.h"

struct jstack_reader {
	struct buf comm, tid;
	struct buf symbol;             /* where one has an address taken out */
};

/* "\tat name(place)" */
static bool parse_frame(struct text t, struct frame_source *f)
{
	const struct text none = { "", 0 };

	t = stack_trimmed(t);
	if (!stack_take_prefix(&t, "at ") || !stack_ends_with(t, ')'))
		return false;
	const size_t bracket = stack_last_bracket(t);

	if (!bracket || bracket == t.len)
		return false;
	*f = (struct frame_source){ .symbol = { t.data, bracket }, .object = none, .line = none };
	struct text place = { t.data + bracket + 1, t.len - bracket - 2 }, module, rest;

	if (stack_split(place, "/", &module, &rest) && memchr(module.data, '@', module.len))
		place = rest;
	if (memchr(place.data, ':', place.len))
		f->line = place;
	/* "java.base@17/java.io.File.x", "app//Main.run": the loader and the module in front */
	const char *slash = memrchr(f->symbol.data, '/', f->symbol.len);

	/* a hidden class, "Main$$Lambda/0x0000.run", has a slash of its own */
	if (slash && slash + 1 < f->symbol.data + f->symbol.len && slash[1] != '0')
		f->symbol = (struct text){ slash + 1, (size_t)(f->symbol.data + f->symbol.len -
							       slash - 1) };
	return true;
}

static bool is_thread(struct text t)
{
	return t.len > 2 && t.data[0] == '"' &&
	       (memmem(t.data, t.len, " nid=", 5) || memmem(t.data, t.len, " tid=", 5) ||
		memmem(t.data, t.len, "\" #", 3));
}

static unsigned look(struct text line)
{
	struct frame_source f;

	if (is_thread(line))
		return 6;
	if (text_starts(line, "Full thread dump"))
		return STACK_CERTAIN;
	return parse_frame(line, &f) ? 3 : 0;
}

static void finish(struct stack_reader *r)
{
	struct jstack_reader *p = r->own;
	const struct text none = { "", 0 };
	const struct stack_task task = { buf_text(&p->comm), none, buf_text(&p->tid), none, none };

	if (r->count && stack_count_event(r, TEXT(""), false) &&
	    stack_filter_wants(r->filter, NA_F64, NA_U64))
		stack_emit(r, &task, 1);
	r->count = 0;
}

/* Threads of a pool are one: "pool-1-thread-7" is pool-1-thread. */
static struct text without_number(struct text t)
{
	size_t n = t.len;

	while (n && t.data[n - 1] >= '0' && t.data[n - 1] <= '9')
		n--;
	if (n > 1 && n < t.len && (t.data[n - 1] == '-' || t.data[n - 1] == '#'))
		t.len = n - 1;
	return t;
}

static void take_thread(struct stack_reader *r, struct text t)
{
	struct jstack_reader *p = r->own;
	const char *quote = memmem(t.data + 1, t.len - 1, "\" ", 2);
	const struct text name = { t.data + 1, quote ? (size_t)(quote - t.data - 1) : t.len - 1 };
	struct text before, rest;
	uint64_t id;

	finish(r);
	buf_reset(&p->tid);
	buf_reset(&p->comm);
	const struct text comm = without_number(stack_trimmed(name));

	buf_add(&p->comm, comm.data, comm.len);
	if (!stack_split(t, " nid=", &before, &rest))
		return;
	struct scan s = scan_of(rest);

	if (scan_literal(&s, "0x") ? scan_hex(&s, &id) : scan_u64(&s, &id))
		buf_printf(&p->tid, "%llu", (unsigned long long)id);
}

/* "Main$$Lambda$1/0x00007f6ca8000a08.run" without the address, which differs from run to run. */
static void push_frame(struct stack_reader *r, struct frame_source *f)
{
	struct jstack_reader *p = r->own;
	struct text before, rest;

	if (stack_split(f->symbol, "/0x", &before, &rest)) {
		uint64_t address;
		struct scan s = scan_of(rest);

		scan_hex(&s, &address);
		buf_reset(&p->symbol);
		buf_add(&p->symbol, before.data, before.len);
		buf_add(&p->symbol, s.at, (size_t)(s.end - s.at));
		f->symbol = buf_text(&p->symbol);
	}
	stack_push(r, f);
}

static void jstack_line(struct stack_reader *r, struct text line)
{
	const struct text t = stack_trimmed(line);
	struct frame_source f;

	if (is_thread(t))
		take_thread(r, t);
	else if (parse_frame(t, &f))
		push_frame(r, &f);
	else if (!t.len)
		finish(r);
	/* states, locks, the JVM's own lines around threads: nothing of a stack */
}

static void jstack_free(struct stack_reader *r)
{
	struct jstack_reader *p = r->own;

	buf_free(&p->comm);
	buf_free(&p->tid);
	buf_free(&p->symbol);
}

const struct stack_format stack_format_jstack = {
	.name = "jstack",
	.own_size = sizeof(struct jstack_reader),
	.look = look,
	.line = jstack_line,
	.end = finish,
	.free = jstack_free,
};
