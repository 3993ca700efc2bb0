#include "common/kernel/kstack.h"

#include <stdlib.h>
#include <string.h>

static bool is_same(const struct named_stack *s, const char *const *frames, uint32_t count)
{
	if (s->count != count)
		return false;
	for (uint32_t i = 0; i < count; i++)
		if (s->frames[i] != frames[i] && strcmp(s->frames[i], frames[i]) != 0)
			return false;
	return true;
}

uint32_t named_stacks_add(struct named_stacks *s, struct arena *a, const char *const *frames,
			  uint32_t count)
{
	const char **copy;
	uint64_t hash = count;
	void **slot;

	for (uint32_t i = 0; i < count; i++)
		hash = hash_keyed(hash, frames[i], strlen(frames[i]));
	/* two with one hash: the second takes the next number */
	for (;; hash++) {
		slot = hash_number(&s->known, hash);
		if (!*slot)
			break;
		if (is_same(&s->items[(uintptr_t)*slot], frames, count))
			return (uint32_t)(uintptr_t)*slot;
	}
	if (!s->count)
		s->count = 1;
	s->items = mem_grow(s->items, &s->cap, s->count + 1, sizeof(*s->items));
	copy = arena_alloc(a, (count + 1) * sizeof(*copy));
	memcpy(copy, frames, count * sizeof(*copy));
	s->items[s->count] = (struct named_stack){ copy, count };
	*slot = (void *)(uintptr_t)s->count;
	return (uint32_t)s->count++;
}

/* The tracepoint and the program behind it: in every stack, and of no interest. */
static bool is_tracing(const char *name)
{
	static const char *const starts[] = {
		"bpf_prog_", "bpf_trace_run", "__bpf_trace_", "__traceiter_", "bpf_get_stack",
		"perf_trace_", "perf_tp_event", "__do_trace_", "__trace_",
	};

	for (size_t i = 0; i < sizeof(starts) / sizeof(*starts); i++)
		if (!strncmp(name, starts[i], strlen(starts[i])))
			return true;
	return false;
}

uint32_t named_stacks_add_addresses(struct named_stacks *s, struct arena *a,
				    const uint64_t *frames, uint32_t count, uint64_t leaf,
				    kstack_namer name, void *arg)
{
	const char *names[NAMED_STACK_FRAMES];
	uint32_t first = 0, n = 0;

	while (leaf && first < count && frames[first] != leaf)
		first++;
	const bool has_leaf = leaf && first < count;

	for (uint32_t i = has_leaf ? first : 0; i < count && n < NAMED_STACK_FRAMES; i++) {
		const char *is = name(arg, frames[i], i != 0);

		if (!is)
			is = arena_printf(a, "[0x%llx]", (unsigned long long)frames[i]);
		if (n || has_leaf || !is_tracing(is))
			names[n++] = is;
	}
	return n ? named_stacks_add(s, a, names, n) : 0;
}

void named_stacks_free(struct named_stacks *s)
{
	free(s->items);
	hash_free(&s->known);
	*s = (struct named_stacks){ 0 };
}

/* ---- as text ---- */

void kstack_write_word(struct buf *to, const char *word)
{
	if (!word) {
		buf_add_text(to, " -");
		return;
	}
	buf_add_text(to, " =");
	for (; *word; word++)
		buf_add_char(to, (unsigned char)*word <= ' ' || *word == 0x7f ? '?' : *word);
}

bool kstack_scan_word(struct scan *s, struct arena *a, const char **word)
{
	struct scan at = *s;
	struct text t;

	if (!scan_word(&at, &t) || memchr(t.data, '\0', t.len))
		return false;
	if (text_is(t, "-"))
		*word = NULL;
	else if (t.data[0] == '=')
		*word = arena_copy(a, t.data + 1, t.len - 1);
	else
		return false;
	*s = at;
	return true;
}

void named_stacks_write(const struct named_stacks *s, struct buf *to)
{
	for (size_t i = 1; i < s->count; i++) {
		buf_add_text(to, "stack");
		for (uint32_t k = 0; k < s->items[i].count; k++)
			kstack_write_word(to, s->items[i].frames[k]);
		buf_add_char(to, '\n');
	}
}

bool named_stacks_parse(struct named_stacks *s, struct arena *a, struct scan *line)
{
	const char *frames[NAMED_STACK_FRAMES];
	uint32_t n = 0;

	while (n < NAMED_STACK_FRAMES && kstack_scan_word(line, a, &frames[n]) && frames[n])
		n++;
	scan_blanks(line);
	if (!n || line->at != line->end)
		return false;
	const size_t before = s->count;

	named_stacks_add(s, a, frames, n);
	return s->count > before;      /* one that was there makes all numbers behind it wrong */
}
