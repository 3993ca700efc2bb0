#include "common/kernel/retransmit.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "common/base/fail.h"
#include "common/kernel/bpf.h"
#include "common/kernel/kstack.h"
#include "bpf/kstack.h"
#include "retransmit.skel.h"

static struct retransmit_bpf *program;

/* ---- reading ---- */

struct reading {
	struct retransmit_set *set;
	kstack_namer name;
	void *arg;
	struct hash stacks;            /* number in the set by the kernel's id */
};

static uint32_t stack_of(struct reading *r, uint64_t id)
{
	struct kstack stack;
	void **slot;

	if (!id)
		return 0;
	slot = hash_number(&r->stacks, id);
	if (!*slot && !bpf_map_get(bpf_map__fd(program->maps.stacks), &id, &stack) &&
	    stack.count <= KSTACK_FRAMES)
		*slot = (void *)(uintptr_t)named_stacks_add_addresses(
			&r->set->stacks, &r->set->arena, stack.frames, stack.count, 0, r->name,
			r->arg);
	return (uint32_t)(uintptr_t)*slot;
}

static void add_row(struct reading *r, const struct retransmit_key *k,
		    const struct retransmit_sum *sum)
{
	struct retransmit_set *s = r->set;
	struct retransmit_row row = {
		.segments = sum->segments, .events = sum->events, .failed = sum->failed,
		.netns = k->netns, .family = (uint8_t)k->family, .state = k->state,
		.kind = k->kind, .local_port = k->local_port, .stack = stack_of(r, k->stack),
	};

	memcpy(row.remote.address, k->remote, sizeof(k->remote));
	row.remote.port = k->remote_port;
	s->rows = mem_grow(s->rows, &s->cap, s->count + 1, sizeof(*s->rows));
	s->rows[s->count++] = row;
}

/* Entries are never taken out, so walking them key by key meets each once. */
static void read_rows(struct reading *r)
{
	const int map = bpf_map__fd(program->maps.rows);
	struct retransmit_key key, next;
	struct retransmit_sum sum;
	const void *from = NULL;

	for (unsigned n = 0; n < RETRANSMIT_ROWS && !bpf_map_next(map, from, &next); n++) {
		key = next;
		from = &key;
		if (!bpf_map_get(map, &key, &sum))
			add_row(r, &key, &sum);
	}
}

static void read_totals(struct retransmit_set *s)
{
	const int map = bpf_map__fd(program->maps.totals);
	struct retransmit_total key, next;
	struct retransmit_sum sum;
	const void *from = NULL;

	for (unsigned n = 0; n < RETRANSMIT_TOTALS && !bpf_map_next(map, from, &next); n++) {
		key = next;
		from = &key;
		if (bpf_map_get(map, &key, &sum))
			continue;
		s->totals = mem_grow(s->totals, &s->total_cap, s->total_count + 1,
				     sizeof(*s->totals));
		s->totals[s->total_count++] = (struct retransmit_row){
			.segments = sum.segments, .events = sum.events, .failed = sum.failed,
			.netns = key.netns, .kind = (uint8_t)key.kind,
		};
	}
}

int retransmit_read(kstack_namer name, void *arg, struct retransmit_set *set)
{
	struct reading r = { .set = set, .name = name, .arg = arg };

	if (!program)
		return fail(ENOENT, "retransmits are not counted");
	set->engine = "bpf";
	/* rows first: what comes meanwhile is in totals and not in rows, never the other way */
	read_rows(&r);
	read_totals(set);
	set->counts.no_room = program->bss->counts.no_room;
	set->counts.no_total = program->bss->counts.no_total;
	set->counts.no_stack = program->bss->counts.no_stack;
	set->counts.missed =
		bpf_program_misses(bpf_program__fd(program->progs.retransmit)) +
		bpf_program_misses(bpf_program__fd(program->progs.retransmit_synack));
	hash_free(&r.stacks);
	return 0;
}

/* ---- opening ---- */

static void set_options(const struct retransmit_options *o)
{
	const int arguments = bpf_tracepoint_arguments("tcp_retransmit_skb");
	uint64_t seeds[2] = { (uintptr_t)&arguments, (uintptr_t)&program };

	if (getrandom(seeds, sizeof(seeds), GRND_NONBLOCK) < 0)
		seeds[1] = ~seeds[0];
	program->rodata->stack_seed1 = seeds[0];
	program->rodata->stack_seed2 = seeds[1];
	program->rodata->arguments = arguments > 0 ? (uint32_t)arguments : 2;
	program->rodata->has_netns = o->netns_count > 0;
	program->rodata->wants_stacks = o->wants_stacks;
	if (o->wants_stacks)
		bpf_map__set_max_entries(program->maps.stacks, KSTACK_MOST);
}

static int fill_filter(const struct retransmit_options *o)
{
	const uint8_t yes = 1;

	for (size_t i = 0; i < o->netns_count; i++) {
		const uint32_t inode = (uint32_t)o->netns[i];

		if (bpf_map_put(bpf_map__fd(program->maps.chosen_netns), &inode, &yes))
			return fail(E2BIG, "more than %d namespaces", RETRANSMIT_CHOSEN);
	}
	return 0;
}

int retransmit_open(const struct retransmit_options *o)
{
	if (program)
		return 0;
	bpf_quiet();
	program = retransmit_bpf__open();
	if (!program)
		return errno == ENOTSUP ? fail(ENOTSUP, "built without BPF") :
			bpf_fail(errno, "opening the BPF programs");
	set_options(o);
	int err = -retransmit_bpf__load(program);

	if (err) {
		err = bpf_explain_load(err, "BPF programs at tracepoints, typed", 5);
	} else {
		err = fill_filter(o);
		if (!err && (err = -retransmit_bpf__attach(program)))
			err = bpf_fail(err, "attaching the BPF programs");
	}
	if (err)
		retransmit_close();
	return err;
}

void retransmit_close(void)
{
	retransmit_bpf__destroy(program);
	program = NULL;
}
