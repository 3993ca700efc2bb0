/* What a look reads of one namespace: counts, rules, events, and the dump, counted as it comes. */
#include <stdlib.h>
#include <string.h>

#include "applets/conntrack_top/conntrack_top.h"
#include "common/base/mem.h"
#include "common/kernel/source.h"
#include "common/report/redact.h"

/* Above this rate events are listened to in one interval of ten, so that they stay cheap. */
#define LISTEN_MAX_PER_SECOND 20000
#define REST_FRAMES 9
#define SPACES_LISTENED_MAX 64

static struct space new_space(uint64_t inode, unsigned index)
{
	return (struct space){ .inode = inode, .index = index, .frame = top.looks + 1,
			       .is_unread = true, .begun_per_second = NA_F64,
			       .ended_per_second = NA_F64 };
}

struct space *space_of(const struct netns *ns)
{
	for (size_t i = 0; i < top.space_count; i++)
		if (top.spaces[i].inode == ns->inode)
			return &top.spaces[i];
	/* that of a namespace that had gone by the last look: no row names it any more */
	for (size_t i = 0; i < top.space_count; i++)
		if (top.spaces[i].frame < top.looks) {
			flow_events_close(&top.spaces[i].events);
			free(top.spaces[i].name);
			top.spaces[i] = new_space(ns->inode, (unsigned)i);
			return &top.spaces[i];
		}
	top.spaces = mem_grow(top.spaces, &top.space_cap, top.space_count + 1,
			      sizeof(*top.spaces));
	struct space *s = &top.spaces[top.space_count];

	*s = new_space(ns->inode, (unsigned)top.space_count++);
	return s;
}

static void count_begun(const struct flow *f, void *arg)
{
	const struct space *s = arg;

	if (!top.has_filter || flow_matches(&top.filter, f)) {
		struct topk_key key = key_of(f, top.by, s->index);

		topk_add(&top.begun, &key);
	}
}

static void listen_to(struct out *out, struct space *s)
{
	if (s->rest) {
		s->rest--;
		s->begun_is_old = true;
		if (s->rest)
			return;
	}
	if (s->index >= SPACES_LISTENED_MAX)
		return;
	s->is_listening = flow_events_open(&s->events) >= 0;
	if (!s->is_listening && src_is_live())
		out_note(out, "%s: no NEW/s: %s", s->name, fail_text());
}

static void read_events(struct out *out, struct space *s)
{
	struct flow_event_counts c;

	if (!s->is_listening) {
		top.begun_all = NA_U64;
		if (top.listens)
			listen_to(out, s);
		return;
	}
	int err = flow_events_read(&s->events, count_begun, s, &c);

	if (err < 0)
		out_missing(out, "%s: %s", s->name, fail_text());
	s->begun_is_old = false;
	s->begun_lost = c.begun_lost;
	s->begun_per_second = rate_of(c.begun, top.interval_ns);
	s->ended_per_second = rate_of(c.ended, top.interval_ns);
	top.begun_all = sum_u64(top.begun_all, c.begun);
	if (s->begun_per_second > LISTEN_MAX_PER_SECOND) {
		flow_events_close(&s->events);
		s->is_listening = false;
		s->rest = REST_FRAMES;
	}
}

static void count_flow(const struct flow *f, void *arg)
{
	struct space *s = arg;
	struct topk_key key = key_of(f, top.by, s->index);
	struct topk_item *item = topk_add(top.now, &key);
	bool is_unreplied = !(f->status & FLOW_SEEN_REPLY);

	item->sums[SUM_ASSURED] += (f->status & FLOW_ASSURED) != 0;
	item->sums[SUM_UNREPLIED] += is_unreplied;
	item->sums[SUM_BYTES] = sum_u64(item->sums[SUM_BYTES], f->bytes);
	item->sums[SUM_PACKETS] = sum_u64(item->sums[SUM_PACKETS], f->packets);
	s->assured += (f->status & FLOW_ASSURED) != 0;
	s->unreplied += is_unreplied;
	if (f->timeout_s != NA_U64) {
		item->sums[SUM_TIMEOUT_S] += f->timeout_s;
		item->sums[SUM_TIMEOUTS]++;
		s->timeout_s += f->timeout_s;
		s->timeouts++;
	}
	if (is_unreplied && s->may_be_flooded) {
		key = key_of(f, BY_SRC, 0);
		topk_add(&top.flood_sources, &key);
		key = key_of_target(f);
		topk_add(&top.flood_targets, &key);
	}
	if (f->status & FLOW_SRC_NAT) {
		key = key_of_snat(f);
		topk_add(&top.nat, &key);
	}
}

static uint64_t counted_before;        /* flows of other namespaces in top.now */

static void begin_dump(struct space *s)
{
	s->assured = s->unreplied = s->timeout_s = s->timeouts = 0;
	topk_reset(&top.flood_sources);
	topk_reset(&top.flood_targets);
	topk_reset(&top.nat);
}

/* What this namespace gave so far is void, and can't be told from what others gave. */
static void restart_dump(void *arg)
{
	if (top.now->total != counted_before) {
		top.has_lost_others |= counted_before > 0;
		topk_reset(top.now);
		counted_before = 0;
	}
	begin_dump(arg);
}

static void dump(struct out *out, struct space *s)
{
	const struct flow_reader reader = { count_flow, restart_dump, s };
	int err;

	counted_before = top.now->total;
	s->may_be_flooded = may_be_flooded(s);
	begin_dump(s);
	if (s->now.count == 0)
		return;
	err = flow_dump(top.has_filter ? &top.filter : NULL, &reader, &s->dump);
	if (err < 0) {
		out_missing(out, "%s: %s", s->name, fail_text());
		return;
	}
	s->has_dump = true;
	if (s->dump.is_from_proc)
		out_note(out, "%s: flows are read from /proc/net/nf_conntrack: %s", s->name,
			 s->dump.refused);
	if (s->dump.is_partial)
		out_missing(out, "%s: the dump was disturbed: some flows are not in it", s->name);
	if (s->dump.garbled)
		out_missing(out, "%s: %llu flows could not be understood", s->name,
			    (unsigned long long)s->dump.garbled);
}

void read_space(struct out *out, const struct netns *ns, struct space *s)
{
	const char *name = redact_name(src_arena(), NAME_CONTAINER, ns->name);

	if (!s->name || strcmp(s->name, name) != 0) {
		free(s->name);
		s->name = mem_strdup(name);
	}
	s->has_before = s->frame && s->frame == top.looks && !s->is_unread;
	s->before = s->now;
	s->frame = top.looks + 1;
	s->has_dump = false;
	s->is_unread = conntrack_read(&s->now) < 0;
	if (s->is_unread)
		out_missing(out, "%s: %s", s->name, fail_text());
	/* one that was made in the interval counts from zero */
	if (!s->has_before && top.looks && netns_is_new(ns, src_frame()->index - 1)) {
		s->before = (struct conntrack){ .is_in_use = true, .max = s->now.max };
		s->has_before = true;
	}
	if (!s->now.is_in_use)
		return;
	space_read_packets(s);
	read_events(out, s);
	/* growth needs two dumps, but the first report does not wait for it */
	if (top.dumps && (top.looks || src_frame()->is_only))
		dump(out, s);
	space_read_rules(out, s);
}
