#include "common/kernel/skbdrop.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "bpf/skbdrop.h"
#include "common/base/fail.h"
#include "common/base/mem.h"
#include "common/kernel/bpf.h"
#include "common/kernel/dropreason.h"
#include "skbdrop.skel.h"

/* Of each key the kernel keeps a counter for every CPU there may be. */
#define COUNTERS_MOST (1u << 20)
#define ROWS_LEAST 1024u

static struct skbdrop_bpf *program;

/* ---- reading ---- */

struct reading {
	struct drop_set *set;
	kstack_namer name;
	void *arg;
	struct hash stacks;            /* number in the set by the kernel's id, and by its leaf */
	int cpus;
	uint64_t *values;              /* of one key, by CPU */
};

static uint64_t sum_of(const struct reading *r)
{
	uint64_t sum = 0;

	for (int i = 0; i < r->cpus; i++)
		sum += r->values[i];
	return sum;
}

/* A stack with the place that dropped as its leaf. */
static uint32_t stack_of(struct reading *r, const struct skbdrop_key *key)
{
	struct kstack stack;
	void **slot;

	if (!key->stack)
		return 0;
	slot = hash_number(&r->stacks, key->stack);
	if (!*slot && !bpf_map_get(bpf_map__fd(program->maps.stacks), &key->stack, &stack) &&
	    stack.count <= KSTACK_FRAMES)
		*slot = (void *)(uintptr_t)named_stacks_add_addresses(
			&r->set->stacks, &r->set->arena, stack.frames, stack.count, key->location,
			r->name, r->arg);
	return (uint32_t)(uintptr_t)*slot;
}

static const char *device_of(struct reading *r, const struct skbdrop_key *key)
{
	const struct skbdrop_device device = { key->netns, key->ifindex };
	char name[16];

	if (!key->ifindex || bpf_map_get(bpf_map__fd(program->maps.devices), &device, name))
		return NULL;
	return arena_copy(&r->set->arena, name, strnlen(name, sizeof(name)));
}

static void add_row(struct reading *r, const struct skbdrop_key *key)
{
	struct arena *a = &r->set->arena;
	const bool has_reason = key->reason != SKBDROP_NO_REASON;
	struct drop_row row = {
		.count = sum_of(r),
		.reason = has_reason ? arena_strdup(a, dropreason_name(key->reason)) : NULL,
		.place = arena_strdup(a, r->name(r->arg, key->location, true)),
		.netns = key->netns,
		.ifindex = key->ifindex,
		.device = device_of(r, key),
		.is_arrival = key->is_arrival,
		.protocol = key->protocol,
		.transport = key->transport,
		.stack = stack_of(r, key),
	};

	dropset_add(r->set, &row);
}

/* Entries are never taken out, so walking them key by key meets each once. */
static void read_rows(struct reading *r)
{
	const int map = bpf_map__fd(program->maps.drops);
	struct skbdrop_key key, next;
	const void *from = NULL;

	for (uint32_t n = bpf_map__max_entries(program->maps.drops); n; n--) {
		if (bpf_map_next(map, from, &next))
			break;
		key = next;
		from = &key;
		if (!bpf_map_get(map, &key, r->values))
			add_row(r, &key);
	}
}

static void read_counts(const struct reading *r)
{
	struct skbdrop_counts *by_cpu = mem_alloc((size_t)r->cpus * sizeof(*by_cpu));
	struct drop_counts *c = &r->set->counts;
	const uint32_t zero = 0;

	if (!bpf_map_get(bpf_map__fd(program->maps.counts), &zero, by_cpu)) {
		for (int i = 0; i < r->cpus; i++) {
			c->seen += by_cpu[i].seen;
			c->passed_over += by_cpu[i].passed_over;
			c->no_room += by_cpu[i].no_room;
			c->no_stack += by_cpu[i].no_stack;
		}
	}
	c->missed = bpf_program_misses(bpf_program__fd(program->progs.free_skb));
	free(by_cpu);
}

int skbdrop_read(kstack_namer name, void *arg, struct drop_set *set)
{
	struct reading r = { .set = set, .name = name, .arg = arg, .cpus = bpf_possible_cpus() };

	if (!program)
		return fail(ENOENT, "drops are not counted");
	if (r.cpus <= 0)
		return fail(EIO, "how many CPUs there may be is not known");
	r.values = mem_alloc((size_t)r.cpus * sizeof(*r.values));
	set->engine = "bpf";
	set->has_reasons = program->rodata->arguments >= 3;
	read_rows(&r);
	read_counts(&r);
	hash_free(&r.stacks);
	free(r.values);
	return 0;
}

/* ---- opening ---- */

static void set_options(const struct skbdrop_options *o, bool may_copy)
{
	const int arguments = bpf_tracepoint_arguments("kfree_skb"), cpus = bpf_possible_cpus();
	const uint32_t room = COUNTERS_MOST / (cpus > 0 ? (uint32_t)cpus : 1);
	uint64_t seeds[2] = { (uintptr_t)&room, (uintptr_t)&program };

	if (getrandom(seeds, sizeof(seeds), GRND_NONBLOCK) < 0)
		seeds[1] = ~seeds[0];
	program->rodata->stack_seed1 = seeds[0];
	program->rodata->stack_seed2 = seeds[1];
	program->rodata->arguments = arguments > 0 ? (uint32_t)arguments : 2;
	program->rodata->may_copy = may_copy;
	program->rodata->has_netns = o->netns_count > 0;
	program->rodata->has_devices = o->device_count > 0;
	program->rodata->wants_stacks = o->wants_stacks;
	if (room < SKBDROP_ROWS)
		bpf_map__set_max_entries(program->maps.drops,
					 room < ROWS_LEAST ? ROWS_LEAST : room);
	if (o->wants_stacks)
		bpf_map__set_max_entries(program->maps.stacks, KSTACK_MOST);
}

static int fill_filters(const struct skbdrop_options *o)
{
	const uint8_t yes = 1;

	for (size_t i = 0; i < o->netns_count; i++) {
		const uint32_t inode = (uint32_t)o->netns[i];

		if (bpf_map_put(bpf_map__fd(program->maps.chosen_netns), &inode, &yes))
			return fail(E2BIG, "more than %d namespaces", SKBDROP_CHOSEN);
	}
	for (size_t i = 0; i < o->device_count; i++) {
		char name[16] = "";

		memcpy(name, o->devices[i], strnlen(o->devices[i], sizeof(name) - 1));
		if (bpf_map_put(bpf_map__fd(program->maps.chosen_devices), name, &yes))
			return fail(E2BIG, "more than %d devices", SKBDROP_CHOSEN);
	}
	return 0;
}

static int load(const struct skbdrop_options *o, bool may_copy)
{
	bpf_quiet();
	program = skbdrop_bpf__open();
	if (!program)
		return errno;
	set_options(o, may_copy);
	return -skbdrop_bpf__load(program);
}

int skbdrop_open(const struct skbdrop_options *o)
{
	if (program)
		return 0;
	int err = load(o, true);

	if (err == ENOTSUP && !program)
		return fail(ENOTSUP, "built without BPF");
	if (err && program && err != EPERM && err != ENOSYS) {
		skbdrop_close();       /* lockdown=confidentiality forbids copying, not looking */
		err = load(o, false);
	}
	if (err) {
		err = bpf_explain_load(err, "BPF programs at tracepoints, typed", 5);
	} else {
		err = fill_filters(o);
		if (!err && (err = -skbdrop_bpf__attach(program)))
			err = bpf_fail(err, "attaching the BPF programs");
	}
	if (err)
		skbdrop_close();
	return err;
}

void skbdrop_close(void)
{
	skbdrop_bpf__destroy(program);
	program = NULL;
	dropreason_forget();
}
