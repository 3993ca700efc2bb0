#include "common/kernel/offcpu.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "common/base/fail.h"
#include "common/base/mem.h"
#include "common/base/na.h"
#include "common/kernel/bpf.h"
#include "offcpu.skel.h"

#define BEGUN_PER_READ 256
#define STACK_PIECE 4096               /* of a sleeping thread's stack, read at once */

static struct offcpu_bpf *program;

static uint64_t monotonic_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

/* ---- maps ---- */

static int map_command(int command, const struct bpf_map *map, const void *key, void *to,
		       uint64_t flags)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.map_fd = (uint32_t)bpf_map__fd(map);
	attr.key = (uint64_t)(uintptr_t)key;
	attr.value = (uint64_t)(uintptr_t)to;  /* the same place as next_key */
	attr.flags = flags;
	return (int)syscall(SYS_bpf, command, &attr, sizeof(attr));
}

static bool look_up(const struct bpf_map *map, const void *key, void *value)
{
	return !map_command(BPF_MAP_LOOKUP_ELEM, map, key, value, 0);
}

bool offcpu_stack(uint64_t id, struct offcpu_stack *s)
{
	return id && (look_up(program->maps.short_stacks, &id, s) ||
		      look_up(program->maps.deep_stacks, &id, s));
}

bool offcpu_chain(uint64_t id, struct offcpu_chain *c)
{
	return id && look_up(program->maps.chains, &id, c);
}

bool offcpu_thread(uint64_t serial, struct offcpu_thread *t)
{
	return serial && look_up(program->maps.threads, &serial, t);
}

struct offcpu_counts offcpu_counts(void)
{
	return program ? program->bss->counts : (struct offcpu_counts){ 0 };
}

uint64_t offcpu_window_ns(void)
{
	return program ? program->bss->ended_ns - program->bss->began_ns : 0;
}

/* Entries are never taken out, so walking them key by key meets each once. */
int offcpu_rows(struct offcpu_row **rows, size_t *count)
{
	const struct bpf_map *map = program->maps.sums;
	const size_t most = bpf_map__max_entries(map);
	struct offcpu_row *r = NULL, row = { 0 };
	const void *from = NULL;
	struct offcpu_key next;
	size_t n = 0, cap = 0;

	while (n < most && !map_command(BPF_MAP_GET_NEXT_KEY, map, from, &next, 0)) {
		row.key = next;
		from = &row.key;
		if (!look_up(map, &row.key, &row.sum))
			continue;
		r = mem_grow(r, &cap, n + 1, sizeof(*r));
		r[n++] = row;
	}
	*rows = r;
	*count = n;
	return 0;
}

uint64_t offcpu_running_ns(void)
{
	uint64_t sum = 0;

	for (size_t i = 0; program && i < OFFCPU_CPUS; i++)
		sum += program->bss->running[i].ns;
	return sum;
}

void offcpu_locks(void (*each)(void *arg, uint64_t tgid, uint64_t address, uint64_t most),
		  void *arg)
{
	const struct bpf_map *map = program->maps.locks;
	struct offcpu_lock_key key, next;
	struct offcpu_lock lock;
	const void *from = NULL;

	for (size_t n = bpf_map__max_entries(map); n; n--) {
		if (map_command(BPF_MAP_GET_NEXT_KEY, map, from, &next, 0))
			break;
		key = next;
		from = &key;
		if (look_up(map, &key, &lock))
			each(arg, lock.tgid, key.address, lock.most > 0 ? (uint64_t)lock.most : 0);
	}
}

/* ---- threads that sleep already: their stacks, read from outside ---- */

struct stack_copy {
	pid_t pid;
	uint64_t base;
	size_t len;
	char bytes[STACK_PIECE];
};

static bool read_remote(pid_t pid, uint64_t address, void *to, size_t size, size_t *got)
{
	const struct iovec here = { to, size }, there = { (void *)(uintptr_t)address, size };
	const ssize_t n = process_vm_readv(pid, &here, 1, &there, 1, 0);

	*got = n > 0 ? (size_t)n : 0;
	return n > 0;
}

static bool read_pair(struct stack_copy *c, uint64_t address, uint64_t pair[2])
{
	size_t got;

	if (address < c->base || address - c->base > c->len ||
	    c->len - (address - c->base) < 2 * sizeof(*pair)) {
		/* a page ends before the piece does */
		if (!read_remote(c->pid, address, c->bytes, STACK_PIECE - (address & 4095), &got))
			return false;
		c->base = address;
		c->len = got;
		if (got < 2 * sizeof(*pair))
			return read_remote(c->pid, address, pair, 16, &got) && got == 16;
	}
	memcpy(pair, c->bytes + (address - c->base), 2 * sizeof(*pair));
	return true;
}

/* By frame pointers, as the kernel does it: x86-64 and arm64 lay frames out alike. */
static void walk(const struct offcpu_begun *b, struct offcpu_stack *s)
{
	struct stack_copy copy = { .pid = (pid_t)b->tid };
	uint64_t fp = b->fp, below = b->sp, pair[2];

	s->frames[0] = b->ip;
	s->count = 1;
	while (s->count < OFFCPU_FRAMES_MAX && fp >= below && !(fp & 7) &&
	       read_pair(&copy, fp, pair)) {
		if (!pair[1])
			break;
		s->frames[s->count++] = pair[1];
		below = fp + 16;
		fp = pair[0];
	}
}

static void store(const struct offcpu_begun *b)
{
	struct offcpu_stack s = { 0 };

	if (!b->ip)
		return;
	walk(b, &s);
	uint64_t id = offcpu_hash(&s, program->rodata->seed1, program->rodata->seed2);
	const struct bpf_map *map = s.count <= OFFCPU_FRAMES_SHORT ? program->maps.short_stacks :
								     program->maps.deep_stacks;

	map_command(BPF_MAP_UPDATE_ELEM, map, &id, &s, BPF_NOEXIST);
	map_command(BPF_MAP_UPDATE_ELEM, program->maps.begun, &b->thread, &id, BPF_ANY);
}

/* ---- passes over all threads ---- */

/* A file whose reading runs the iterator: kernel/bpf/bpf_iter.c. */
static int open_iterator(void)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.iter_create.link_fd = (uint32_t)bpf_link__fd(program->links.each_task);
	return (int)syscall(SYS_bpf, BPF_ITER_CREATE, &attr, sizeof(attr));
}

static int run_pass(enum offcpu_pass pass)
{
	struct offcpu_begun begun[BEGUN_PER_READ];

	program->bss->pass = pass;
	const int fd = open_iterator();

	if (fd < 0)
		return fail_errno(errno, "bpf(BPF_ITER_CREATE)");
	for (;;) {
		const ssize_t n = read(fd, begun, sizeof(begun));

		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n <= 0 || n % (ssize_t)sizeof(*begun)) {
			const int err = n < 0 ? errno : n ? EIO : 0;

			close(fd);
			return err ? fail_errno(err, "reading the BPF task iterator") : 0;
		}
		for (size_t i = 0; i < (size_t)n / sizeof(*begun); i++)
			store(&begun[i]);
	}
}

/* ---- opening ---- */

static int explain_load(int err)
{
	if (err == EPERM)
		/* the verifier's own refusals are EACCES and EINVAL */
		return bpf_fail_refused(err);
	if (err == ENOSYS)
		return fail_errno(err, "bpf() refused: seccomp, or no CONFIG_BPF_SYSCALL");
	bpf_fail(err, "loading the BPF programs");
	char *text = mem_strdup(fail_text());
	int kept = bpf_probe_btf();    /* if it has a reason, that is the reason */

	if (!kept)
		kept = fail(err == EINVAL ? ENOTSUP : err, "%s", text);
	free(text);
	return kept;
}

static void set_options(const struct offcpu_options *o)
{
	uint64_t seeds[2] = { monotonic_ns(), (uint64_t)(uintptr_t)&seeds };

	if (getrandom(seeds, sizeof(seeds), GRND_NONBLOCK) < 0)
		seeds[0] ^= (uint64_t)getpid() << 32;
	program->rodata->seed1 = seeds[0];
	program->rodata->seed2 = seeds[1];
	program->rodata->least_ns = o->least_ns;
	program->rodata->most_ns = o->most_ns;
	program->rodata->state_mask = o->state_mask;
	program->rodata->waker_depth = o->waker_depth;
	program->rodata->has_filter = o->pid_count || o->tid_count;
	program->rodata->inherits_filter = o->inherits;
	program->rodata->takes_all_new = o->takes_all_new;
	program->rodata->only_user = o->only_user;
	program->rodata->only_kernel = o->only_kernel;
	program->rodata->no_user_stacks = o->no_user_stacks;
	program->rodata->no_kernel_stacks = o->no_kernel_stacks;
	program->rodata->has_state_argument = bpf_tracepoint_arguments("sched_switch") >= 4;
}

static void set_sizes(const struct offcpu_options *o)
{
	const uint32_t storage = o->storage ? (uint32_t)o->storage : OFFCPU_STORAGE;
	const size_t most = o->pid_count > o->tid_count ? o->pid_count : o->tid_count;

	bpf_map__set_max_entries(program->maps.short_stacks, storage);
	bpf_map__set_max_entries(program->maps.deep_stacks, storage);
	bpf_map__set_max_entries(program->maps.sums, storage);
	bpf_map__set_max_entries(program->maps.threads, storage);
	bpf_map__set_max_entries(program->maps.chains, storage);
	bpf_map__set_max_entries(program->maps.begun, storage);
	bpf_map__set_max_entries(program->maps.locks, storage);
	bpf_map__set_max_entries(program->maps.only_tgids, (uint32_t)most + 1);
	bpf_map__set_max_entries(program->maps.only_tids, (uint32_t)most + 1);
}

static int fill_filter(const struct bpf_map *map, const uint64_t *numbers, size_t count)
{
	const uint8_t yes = 1;

	for (size_t i = 0; i < count; i++) {
		const uint32_t number = (uint32_t)numbers[i];

		if (map_command(BPF_MAP_UPDATE_ELEM, map, &number, (void *)&yes, BPF_ANY))
			return fail_errno(errno, "filling a BPF map");
	}
	return 0;
}

static int find_missing(void)
{
	const uint32_t missing = program->bss->missing;

	if (missing & OFFCPU_LACKS_GROUPS)
		return fail(ENOTSUP, "this kernel has no CPU groups (CONFIG_FAIR_GROUP_SCHED)");
	if (missing & OFFCPU_LACKS_INFO)
		return fail(ENOTSUP, "this kernel does not measure waits (no CONFIG_SCHED_INFO)");
	return 0;
}

static int load(const struct offcpu_options *o)
{
	bpf_quiet();
	program = offcpu_bpf__open();
	if (!program)
		return errno == ENOTSUP ? fail(ENOTSUP, "built without BPF") :
			bpf_fail(errno, "opening the BPF programs");
	set_options(o);
	set_sizes(o);
	int err = -offcpu_bpf__load(program);

	if (err)
		return explain_load(err);
	err = fill_filter(program->maps.only_tgids, o->pids, o->pid_count);
	if (err >= 0)
		err = fill_filter(program->maps.only_tids, o->tids, o->tid_count);
	if (err < 0)
		return err;
	err = -offcpu_bpf__attach(program);
	return err ? bpf_fail(err, "attaching the BPF programs") : 0;
}

int offcpu_open(const struct offcpu_options *o)
{
	int err = load(o);

	if (!err)
		err = run_pass(OFFCPU_LEARN);
	if (!err)
		err = find_missing();
	if (err)
		offcpu_close();
	return err;
}

int offcpu_begin(void)
{
	const int err = run_pass(OFFCPU_START);

	if (!err)
		program->bss->began_ns = monotonic_ns();
	return err;
}

int offcpu_end(void)
{
	program->bss->ended_ns = monotonic_ns();
	const int err = run_pass(OFFCPU_END);

	/* nothing more is needed of the events */
	offcpu_bpf__detach(program);
	return err;
}

void offcpu_close(void)
{
	offcpu_bpf__destroy(program);
	program = NULL;
}
