/* How retransmits are saved. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "common/base/fail.h"
#include "common/base/scan.h"
#include "common/kernel/retransmit.h"

#define ADDRESS_DIGITS 32

static const char *const kinds[RETRANSMIT_KINDS] = {
	[RETRANSMIT_SYN] = "syn",
	[RETRANSMIT_SYNACK] = "syn-ack",
	[RETRANSMIT_TLP] = "tlp",
	[RETRANSMIT_RTO] = "rto",
	[RETRANSMIT_SLOW_START] = "slow-start",
	[RETRANSMIT_FAST] = "fast",
	[RETRANSMIT_OTHER] = "other",
};

const char *retransmit_kind_name(uint8_t kind)
{
	return kind < RETRANSMIT_KINDS ? kinds[kind] : NULL;
}

void retransmit_free(struct retransmit_set *s)
{
	named_stacks_free(&s->stacks);
	free(s->rows);
	free(s->totals);
	arena_free(&s->arena);
	*s = (struct retransmit_set){ 0 };
}

static void write_counts(struct buf *to, const char *what, const struct retransmit_row *r)
{
	buf_printf(to, "%s %" PRIu64 " %" PRIu64 " %" PRIu64 " %u", what, r->segments, r->events,
		   r->failed, r->netns);
}

static const char *kind_word(uint8_t kind)
{
	const char *name = retransmit_kind_name(kind);

	return name ? name : "-";
}

void retransmit_write(const struct retransmit_set *s, struct buf *to)
{
	buf_printf(to, "engine %s\n", s->engine);
	named_stacks_write(&s->stacks, to);
	for (size_t i = 0; i < s->count; i++) {
		const struct retransmit_row *r = &s->rows[i];

		write_counts(to, "row", r);
		buf_printf(to, " %u ", r->family);
		for (size_t k = 0; k < sizeof(r->remote.address); k++)
			buf_printf(to, "%02x", r->remote.address[k]);
		buf_printf(to, " %u %u %u %s %u\n", r->remote.port, r->local_port, r->state,
			   kind_word(r->kind), r->stack);
	}
	for (size_t i = 0; i < s->total_count; i++) {
		write_counts(to, "total", &s->totals[i]);
		buf_printf(to, " %s\n", kind_word(s->totals[i].kind));
	}
	buf_printf(to, "count no_room %" PRIu64 "\ncount no_total %" PRIu64 "\n"
		   "count no_stack %" PRIu64 "\ncount missed %" PRIu64 "\nend\n",
		   s->counts.no_room, s->counts.no_total, s->counts.no_stack, s->counts.missed);
}

/* ---- parsing ---- */

static bool is_at_end(struct scan *s)
{
	scan_blanks(s);
	return s->at == s->end;
}

static bool scan_up_to(struct scan *s, uint64_t most, uint64_t *value)
{
	return scan_u64(s, value) && *value <= most;
}

static bool scan_counts(struct scan *s, struct retransmit_row *r)
{
	uint64_t netns;

	if (!scan_u64(s, &r->segments) || !scan_u64(s, &r->events) || !scan_u64(s, &r->failed) ||
	    !scan_up_to(s, UINT32_MAX, &netns))
		return false;
	r->netns = (uint32_t)netns;
	return true;
}

static bool scan_kind(struct scan *s, uint8_t *kind)
{
	struct text word;

	if (!scan_word(s, &word))
		return false;
	for (*kind = 0; *kind < RETRANSMIT_KINDS; ++*kind)
		if (text_is(word, kinds[*kind]))
			return true;
	return text_is(word, "-");     /* RETRANSMIT_UNKNOWN */
}

static bool scan_address(struct scan *s, uint8_t address[16])
{
	struct text word;

	if (!scan_word(s, &word) || word.len != ADDRESS_DIGITS)
		return false;
	for (size_t i = 0; i < 16; i++) {
		const int high = scan_hex_digit(word.data[2 * i]);
		const int low = scan_hex_digit(word.data[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		address[i] = (uint8_t)(high << 4 | low);
	}
	return true;
}

static bool parse_row(struct scan *s, struct retransmit_set *set)
{
	struct retransmit_row r = { 0 };
	uint64_t family, remote_port, local_port, state, stack;

	if (!scan_counts(s, &r) || !scan_up_to(s, UINT8_MAX, &family) ||
	    !scan_address(s, r.remote.address) || !scan_up_to(s, UINT16_MAX, &remote_port) ||
	    !scan_up_to(s, UINT16_MAX, &local_port) || !scan_up_to(s, UINT8_MAX, &state) ||
	    !scan_kind(s, &r.kind) || !scan_up_to(s, UINT32_MAX, &stack) || !is_at_end(s) ||
	    (family != AF_INET && family != AF_INET6) || (stack && stack >= set->stacks.count))
		return false;
	r.family = (uint8_t)family;
	r.remote.port = (uint16_t)remote_port;
	r.local_port = (uint16_t)local_port;
	r.state = (uint8_t)state;
	r.stack = (uint32_t)stack;
	set->rows = mem_grow(set->rows, &set->cap, set->count + 1, sizeof(*set->rows));
	set->rows[set->count++] = r;
	return true;
}

static bool parse_total(struct scan *s, struct retransmit_set *set)
{
	struct retransmit_row r = { 0 };

	if (!scan_counts(s, &r) || !scan_kind(s, &r.kind) || !is_at_end(s))
		return false;
	set->totals = mem_grow(set->totals, &set->total_cap, set->total_count + 1,
			       sizeof(*set->totals));
	set->totals[set->total_count++] = r;
	return true;
}

static bool parse_count(struct scan *s, struct retransmit_set *set)
{
	struct text name;
	uint64_t value;

	if (!scan_word(s, &name) || !scan_u64(s, &value) || !is_at_end(s))
		return false;
	if (text_is(name, "no_room"))
		set->counts.no_room = value;
	else if (text_is(name, "no_total"))
		set->counts.no_total = value;
	else if (text_is(name, "no_stack"))
		set->counts.no_stack = value;
	else if (text_is(name, "missed"))
		set->counts.missed = value;
	return true;
}

static bool parse_line(struct scan *s, struct retransmit_set *set)
{
	struct text kind, name;

	if (!scan_word(s, &kind))
		return false;
	if (text_is(kind, "row"))
		return parse_row(s, set);
	if (text_is(kind, "total"))
		return parse_total(s, set);
	if (text_is(kind, "stack"))
		return named_stacks_parse(&set->stacks, &set->arena, s);
	if (text_is(kind, "count"))
		return parse_count(s, set);
	if (!text_is(kind, "engine") || set->engine || !scan_word(s, &name) || !is_at_end(s) ||
	    memchr(name.data, '\0', name.len))
		return false;
	set->engine = arena_text(&set->arena, name);
	return true;
}

int retransmit_parse(struct text t, struct retransmit_set *s)
{
	struct scan all = scan_of(t);
	struct text line;
	size_t n = 0;

	while (scan_until(&all, '\n', &line)) {
		struct scan at = scan_of(line);

		n++;
		if (text_is(line, "end")) {
			if (s->engine && all.at == all.end)
				return 0;
			break;
		}
		if (!parse_line(&at, s))
			return fail(EINVAL, "retransmits, line %zu: not understood", n);
	}
	return fail(EINVAL, "retransmits, behind line %zu: the end is missing, or is none", n);
}
