#include "common/stack/waits.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "common/base/fail.h"
#include "common/base/scan.h"

#define ITEMS_MAX (1u << 28)           /* of a kind */
#define STACK_FRAMES_MAX 1024

/* ---- making ---- */

#define NEXT(w, list, first) \
	((w)->list##_count += !(w)->list##_count && (first), \
	 (w)->list##s = mem_grow((w)->list##s, &(w)->list##_cap, (w)->list##_count + 1, \
				 sizeof(*(w)->list##s)), \
	 &(w)->list##s[(w)->list##_count++])

struct wait_frame *waits_add_frame(struct waits *w)
{
	return NEXT(w, frame, 1);
}

struct wait_stack *waits_add_stack(struct waits *w, const uint32_t *frames, uint32_t count)
{
	struct wait_stack *s = NEXT(w, stack, 1);
	uint32_t *kept = arena_alloc(&w->arena, (count + 1) * sizeof(*kept));

	memcpy(kept, frames, count * sizeof(*kept));
	s->frames = kept;
	s->count = count;
	return s;
}

struct wait_thread *waits_add_thread(struct waits *w)
{
	return NEXT(w, thread, 1);
}

struct wait_chain *waits_add_chain(struct waits *w)
{
	return NEXT(w, chain, 1);
}

struct wait_row *waits_add_row(struct waits *w)
{
	return NEXT(w, row, 0);
}

struct wait_lock *waits_add_lock(struct waits *w)
{
	return NEXT(w, lock, 0);
}

void waits_add_count(struct waits *w, const char *name, uint64_t n)
{
	*NEXT(w, count, 0) = (struct wait_count){ arena_strdup(&w->arena, name), n };
}

void waits_add_note(struct waits *w, const char *text)
{
	*NEXT(w, note, 0) = arena_strdup(&w->arena, text);
}

uint64_t waits_count(const struct waits *w, const char *name)
{
	for (size_t i = 0; i < w->count_count; i++)
		if (!strcmp(w->counts[i].name, name))
			return w->counts[i].n;
	return 0;
}

void waits_free(struct waits *w)
{
	arena_free(&w->arena);
	free(w->frames);
	free(w->stacks);
	free(w->threads);
	free(w->chains);
	free(w->rows);
	free(w->locks);
	free(w->counts);
	free(w->notes);
	*w = (struct waits){ 0 };
}

/* ---- writing ---- */

static void put_word(struct buf *to, const char *word)
{
	buf_add_char(to, ' ');
	if (!word || !*word || !strcmp(word, "-")) {
		buf_add_text(to, word && *word ? "\\x2d" : "-");
		return;
	}
	for (; *word; word++) {
		const unsigned char c = (unsigned char)*word;

		if (c <= ' ' || c == '\\' || c == 0x7f)
			buf_printf(to, "\\x%02x", c);
		else
			buf_add_char(to, (char)c);
	}
}

static void put_stack(struct buf *to, const struct wait_stack *s)
{
	buf_printf(to, "stack %c", s->is_kernel ? 'k' : s->is_cut ? 'c' : 'u');
	for (uint32_t i = 0; i < s->count; i++)
		buf_printf(to, " %u", s->frames[i]);
	buf_add_char(to, '\n');
}

static void put_thread(struct buf *to, const struct wait_thread *t)
{
	buf_printf(to, "thread %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %c",
		   t->tid, t->tgid, t->host_tid, t->host_tgid, t->start_ns,
		   t->is_kernel ? 'k' : 'u');
	put_word(to, t->comm);
	put_word(to, t->cgroup);
	buf_add_char(to, '\n');
}

static void put_row(struct buf *to, const struct wait_row *r)
{
	buf_printf(to, "row %u %u %u %u %u %u %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
		   " %" PRIu64 " %" PRIu64 "\n", r->thread, r->user, r->kernel, r->chain, r->state,
		   r->flags, r->lock, r->count, r->sleep_ns, r->wait_ns, r->throttled_ns,
		   r->max_ns);
}

void waits_write(const struct waits *w, struct buf *to)
{
	buf_add_text(to, "engine");
	put_word(to, w->engine);
	buf_printf(to, "\nwindow %" PRIu64 "\n", w->window_ns);
	for (size_t i = 1; i < w->frame_count; i++) {
		buf_printf(to, "frame %c", w->frames[i].is_kernel ? 'k' : 'u');
		put_word(to, w->frames[i].object);
		put_word(to, w->frames[i].name);
		buf_add_char(to, '\n');
	}
	for (size_t i = 1; i < w->stack_count; i++)
		put_stack(to, &w->stacks[i]);
	for (size_t i = 1; i < w->thread_count; i++)
		put_thread(to, &w->threads[i]);
	for (size_t i = 1; i < w->chain_count; i++) {
		const struct wait_chain *c = &w->chains[i];

		buf_printf(to, "chain %u %u %u %u %u %u %u\n", c->thread, c->user, c->kernel,
			   c->waited_user, c->waited_kernel, c->parent, c->state);
	}
	for (size_t i = 0; i < w->row_count; i++)
		put_row(to, &w->rows[i]);
	for (size_t i = 0; i < w->lock_count; i++)
		buf_printf(to, "lock %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", w->locks[i].tgid,
			   w->locks[i].address, w->locks[i].most);
	for (size_t i = 0; i < w->count_count; i++) {
		buf_add_text(to, "count");
		put_word(to, w->counts[i].name);
		buf_printf(to, " %" PRIu64 "\n", w->counts[i].n);
	}
	for (size_t i = 0; i < w->note_count; i++) {
		buf_add_text(to, "note");
		put_word(to, w->notes[i]);
		buf_add_char(to, '\n');
	}
	buf_add_text(to, "end\n");
}

/* ---- reading ---- */

/* A word of put_word's; *name NULL: "-". */
static bool scan_name(struct scan *s, struct arena *a, const char **name)
{
	struct text word;

	if (!scan_word(s, &word))
		return false;
	if (text_is(word, "-")) {
		*name = NULL;
		return true;
	}
	char *made = arena_copy(a, word.data, word.len);
	size_t n = 0;

	for (size_t i = 0; i < word.len; i++) {
		if (word.data[i] != '\\') {
			made[n++] = word.data[i];
			continue;
		}
		if (word.len - i < 4 || word.data[i + 1] != 'x')
			return false;
		const int high = scan_hex_digit(word.data[i + 2]);
		const int low = scan_hex_digit(word.data[i + 3]);

		if (high < 0 || low < 0 || !(high | low))
			return false;
		made[n++] = (char)(high << 4 | low);
		i += 3;
	}
	made[n] = '\0';
	*name = made;
	return true;
}

static bool scan_u32(struct scan *s, uint32_t *v)
{
	uint64_t n;

	if (!scan_u64(s, &n) || n > UINT32_MAX)
		return false;
	*v = (uint32_t)n;
	return true;
}

/* The number of something that was told already, or 0. */
static bool scan_of_these(struct scan *s, size_t count, uint32_t *v)
{
	return scan_u32(s, v) && (!*v || *v < count);
}

static bool scan_kind(struct scan *s, const char *kinds, char *kind)
{
	struct text word;

	if (!scan_word(s, &word) || word.len != 1 || !strchr(kinds, word.data[0]))
		return false;
	*kind = word.data[0];
	return true;
}

static bool take_frame(struct scan *s, struct waits *w)
{
	struct wait_frame f = { 0 };
	char kind;

	if (!scan_kind(s, "ku", &kind) || !scan_name(s, &w->arena, &f.object) ||
	    !scan_name(s, &w->arena, &f.name) || !f.name)
		return false;
	f.is_kernel = kind == 'k';
	*waits_add_frame(w) = f;
	return true;
}

static bool take_stack(struct scan *s, struct waits *w)
{
	uint32_t frames[STACK_FRAMES_MAX], count = 0;
	char kind;

	if (!scan_kind(s, "kuc", &kind))
		return false;
	while (scan_blanks(s), s->at < s->end) {
		if (count == STACK_FRAMES_MAX ||
		    !scan_of_these(s, w->frame_count, &frames[count]) || !frames[count])
			return false;
		count++;
	}
	struct wait_stack *made = waits_add_stack(w, frames, count);

	made->is_kernel = kind == 'k';
	made->is_cut = kind == 'c';
	return true;
}

static bool take_thread(struct scan *s, struct waits *w)
{
	struct wait_thread t = { 0 };
	char kind;

	if (!scan_u64(s, &t.tid) || !scan_u64(s, &t.tgid) || !scan_u64(s, &t.host_tid) ||
	    !scan_u64(s, &t.host_tgid) || !scan_u64(s, &t.start_ns) ||
	    !scan_kind(s, "ku", &kind) || !scan_name(s, &w->arena, &t.comm) ||
	    !scan_name(s, &w->arena, &t.cgroup))
		return false;
	t.is_kernel = kind == 'k';
	if (!t.comm)
		t.comm = "";
	*waits_add_thread(w) = t;
	return true;
}

static bool take_chain(struct scan *s, struct waits *w)
{
	struct wait_chain c = { 0 };

	if (!scan_of_these(s, w->thread_count, &c.thread) ||
	    !scan_of_these(s, w->stack_count, &c.user) ||
	    !scan_of_these(s, w->stack_count, &c.kernel) ||
	    !scan_of_these(s, w->stack_count, &c.waited_user) ||
	    !scan_of_these(s, w->stack_count, &c.waited_kernel) ||
	    !scan_of_these(s, w->chain_count, &c.parent) || !scan_u32(s, &c.state))
		return false;
	*waits_add_chain(w) = c;
	return true;
}

static bool take_row(struct scan *s, struct waits *w)
{
	struct wait_row r = { 0 };

	if (!scan_of_these(s, w->thread_count, &r.thread) || !r.thread ||
	    !scan_of_these(s, w->stack_count, &r.user) ||
	    !scan_of_these(s, w->stack_count, &r.kernel) ||
	    !scan_of_these(s, w->chain_count, &r.chain) || !scan_u32(s, &r.state) ||
	    !scan_u32(s, &r.flags) || !scan_u64(s, &r.lock) || !scan_u64(s, &r.count) ||
	    !scan_u64(s, &r.sleep_ns) || !scan_u64(s, &r.wait_ns) ||
	    !scan_u64(s, &r.throttled_ns) || !scan_u64(s, &r.max_ns) ||
	    r.throttled_ns > r.wait_ns)
		return false;
	*waits_add_row(w) = r;
	return true;
}

static bool take_lock(struct scan *s, struct waits *w)
{
	struct wait_lock l;

	if (!scan_u64(s, &l.tgid) || !scan_u64(s, &l.address) || !scan_u64(s, &l.most))
		return false;
	*waits_add_lock(w) = l;
	return true;
}

static bool take_count(struct scan *s, struct waits *w)
{
	const char *name;
	uint64_t n;

	if (!scan_name(s, &w->arena, &name) || !name || !scan_u64(s, &n))
		return false;
	waits_add_count(w, name, n);
	return true;
}

static bool take_note(struct scan *s, struct waits *w)
{
	const char *text;

	if (!scan_name(s, &w->arena, &text) || !text)
		return false;
	waits_add_note(w, text);
	return true;
}

static bool take_line(struct text word, struct scan *s, struct waits *w)
{
	if (w->frame_count + w->stack_count + w->row_count > ITEMS_MAX)
		return false;
	return text_is(word, "row") ? take_row(s, w) :
	       text_is(word, "stack") ? take_stack(s, w) :
	       text_is(word, "frame") ? take_frame(s, w) :
	       text_is(word, "thread") ? take_thread(s, w) :
	       text_is(word, "chain") ? take_chain(s, w) :
	       text_is(word, "lock") ? take_lock(s, w) :
	       text_is(word, "count") ? take_count(s, w) :
	       text_is(word, "note") ? take_note(s, w) :
	       text_is(word, "window") ? scan_u64(s, &w->window_ns) :
	       text_is(word, "engine") ? scan_name(s, &w->arena, &w->engine) : false;
}

int waits_parse(struct text t, struct waits *w)
{
	struct scan lines = scan_of(t);
	struct text line, word;
	size_t n = 0;

	while (scan_line(&lines, &line)) {
		struct scan s = scan_of(line);

		n++;
		if (!scan_word(&s, &word))
			break;
		if (text_is(word, "end"))
			return 0;
		if (!take_line(word, &s, w) || (scan_blanks(&s), s.at < s.end))
			return fail(EINVAL, "saved waits: line %zu is garbled", n);
	}
	return fail(EINVAL, "saved waits: they end at line %zu, in the middle", n);
}
