#include "common/kernel/memcg.h"

#include <errno.h>

#include "common/base/fail.h"
#include "common/base/scan.h"
#include "common/kernel/source.h"

/* PAGE_COUNTER_MAX, include/linux/page_counter.h: the largest long, down to a page, of 64 KiB at
 * most; before 3.19 RES_COUNTER_MAX, which is more. */
#define V1_NONE_LEAST 0x7FFFFFFFFFFF0000ull

const struct memcg memcg_unknown = {
	.limit_bytes = NA_U64, .high_bytes = NA_U64, .swap_limit_bytes = NA_U64,
	.memsw_limit_bytes = NA_U64, .kmem_limit_bytes = NA_U64, .usage_bytes = NA_U64,
	.peak_bytes = NA_U64, .swap_bytes = NA_U64, .anon_bytes = NA_U64, .file_bytes = NA_U64,
	.shmem_bytes = NA_U64, .slab_reclaimable_bytes = NA_U64,
	.slab_unreclaimable_bytes = NA_U64, .kernel_bytes = NA_U64, .unevictable_bytes = NA_U64,
	.sock_bytes = NA_U64, .inactive_file_bytes = NA_U64, .active_file_bytes = NA_U64,
	.dirty_bytes = NA_U64, .writeback_bytes = NA_U64, .anon_lists_bytes = NA_U64,
	.refaults = NA_U64, .max_events = NA_U64, .high_events = NA_U64, .oom_events = NA_U64,
	.oom_kills = NA_U64, .oom_group_kills = NA_U64, .local_max_events = NA_U64,
	.local_oom_events = NA_U64, .local_oom_kills = NA_U64, .local_high_events = NA_U64,
	.failcnt = NA_U64, .hierarchical_limit_bytes = NA_U64,
	.hierarchical_memsw_bytes = NA_U64, .oom_group = -1, .oom_kill_disabled = -1,
	.under_oom = -1, .is_hierarchical = -1, .pressure = { NA_U64, NA_U64 },
};

struct key {
	struct text name;
	uint64_t *value;
	bool is_sum;                   /* several keys add up to one value */
};

#define KEY(name, value) { TEXT(name), value, false }
#define KEY_SUM(name, value) { TEXT(name), value, true }

static void take(const struct key *key, struct text rest)
{
	uint64_t n;

	if (!scan_all_u64(rest, &n))
		n = NA_U64;
	if (!key->is_sum || *key->value == NA_U64)
		*key->value = n;
	else if (n == NA_U64 || __builtin_add_overflow(*key->value, n, key->value))
		*key->value = NA_U64;
}

/* "KEY VALUE" lines; how many keys were known. A last line without its newline may be cut. */
static unsigned take_keys(struct text t, const struct key *keys, size_t count)
{
	struct scan lines = scan_of(t);
	struct text line, name;
	unsigned known = 0;

	while (scan_until(&lines, '\n', &line)) {
		struct scan s = scan_of(line);

		if (!scan_word(&s, &name))
			continue;
		scan_blanks(&s);
		for (size_t i = 0; i < count; i++)
			if (keys[i].name.len == name.len &&
			    !memcmp(keys[i].name.data, name.data, name.len)) {
				take(&keys[i], scan_rest(&s));
				known++;
				break;
			}
	}
	return known;
}

int memcg_parse_bytes(struct text t, uint64_t *bytes)
{
	struct scan s = scan_of(t);
	struct text line;
	uint64_t n;

	if (!scan_until(&s, '\n', &line))
		return fail(EINVAL, "cut short");
	if (text_is(line, "max")) {
		*bytes = MEMCG_NONE;
		return 0;
	}
	if (!scan_all_u64(line, &n))
		return fail(EINVAL, "neither a number nor max");
	*bytes = n >= V1_NONE_LEAST ? MEMCG_NONE : n;
	return 0;
}

/* What the kernel has apart in its own lines, before it had the sum (5.18). */
struct kernel_parts {
	uint64_t stack, tables, percpu, slab, vmalloc;
};

/* What is not there counts nothing; a sum that does not fit is unknown. */
static uint64_t add_known(uint64_t sum, uint64_t part)
{
	uint64_t both;

	if (part == NA_U64 || sum == NA_U64)
		return part == NA_U64 ? sum : part;
	return __builtin_add_overflow(sum, part, &both) ? NA_U64 : both;
}

static uint64_t sum_parts(const struct kernel_parts *p)
{
	uint64_t sum = add_known(add_known(p->stack, p->tables), add_known(p->percpu, p->vmalloc));

	return add_known(sum, p->slab);
}

static unsigned parse_stat_v2(struct text t, struct memcg *m)
{
	struct kernel_parts parts = { NA_U64, NA_U64, NA_U64, NA_U64, NA_U64 };
	const struct key keys[] = {
		KEY("anon", &m->anon_bytes), KEY("file", &m->file_bytes),
		KEY("shmem", &m->shmem_bytes), KEY("kernel", &m->kernel_bytes),
		KEY("kernel_stack", &parts.stack), KEY_SUM("pagetables", &parts.tables),
		KEY_SUM("sec_pagetables", &parts.tables), KEY("percpu", &parts.percpu),
		KEY("vmalloc", &parts.vmalloc), KEY("slab", &parts.slab),
		KEY("slab_reclaimable", &m->slab_reclaimable_bytes),
		KEY("slab_unreclaimable", &m->slab_unreclaimable_bytes),
		KEY("sock", &m->sock_bytes), KEY("unevictable", &m->unevictable_bytes),
		KEY_SUM("inactive_anon", &m->anon_lists_bytes),
		KEY_SUM("active_anon", &m->anon_lists_bytes),
		KEY("inactive_file", &m->inactive_file_bytes),
		KEY("active_file", &m->active_file_bytes), KEY("file_dirty", &m->dirty_bytes),
		KEY("file_writeback", &m->writeback_bytes),
		KEY_SUM("workingset_refault", &m->refaults),           /* before 5.9 */
		KEY_SUM("workingset_refault_anon", &m->refaults),
		KEY_SUM("workingset_refault_file", &m->refaults),
	};
	unsigned known = take_keys(t, keys, sizeof(keys) / sizeof(*keys));

	if (m->kernel_bytes == NA_U64)
		m->kernel_bytes = sum_parts(&parts);
	return known;
}

static unsigned parse_stat_v1(struct text t, struct memcg *m)
{
	const struct key keys[] = {
		KEY("total_rss", &m->anon_bytes), KEY("total_cache", &m->file_bytes),
		KEY("total_shmem", &m->shmem_bytes), KEY("total_swap", &m->swap_bytes),
		KEY("total_dirty", &m->dirty_bytes), KEY("total_writeback", &m->writeback_bytes),
		KEY("total_unevictable", &m->unevictable_bytes),
		KEY_SUM("total_inactive_anon", &m->anon_lists_bytes),
		KEY_SUM("total_active_anon", &m->anon_lists_bytes),
		KEY("total_inactive_file", &m->inactive_file_bytes),
		KEY("total_active_file", &m->active_file_bytes),
		KEY_SUM("total_workingset_refault", &m->refaults),
		KEY_SUM("total_workingset_refault_anon", &m->refaults),
		KEY_SUM("total_workingset_refault_file", &m->refaults),
		KEY("hierarchical_memory_limit", &m->hierarchical_limit_bytes),
		KEY("hierarchical_memsw_limit", &m->hierarchical_memsw_bytes),
	};
	unsigned known = take_keys(t, keys, sizeof(keys) / sizeof(*keys));

	if (m->hierarchical_limit_bytes >= V1_NONE_LEAST && m->hierarchical_limit_bytes != NA_U64)
		m->hierarchical_limit_bytes = MEMCG_NONE;
	if (m->hierarchical_memsw_bytes >= V1_NONE_LEAST && m->hierarchical_memsw_bytes != NA_U64)
		m->hierarchical_memsw_bytes = MEMCG_NONE;
	return known;
}

int memcg_parse_stat(struct text t, int version, struct memcg *m)
{
	struct memcg new = *m;

	new.anon_bytes = new.file_bytes = new.shmem_bytes = new.kernel_bytes = NA_U64;
	new.slab_reclaimable_bytes = new.slab_unreclaimable_bytes = new.sock_bytes = NA_U64;
	new.unevictable_bytes = new.anon_lists_bytes = new.refaults = NA_U64;
	new.inactive_file_bytes = new.active_file_bytes = NA_U64;
	new.dirty_bytes = new.writeback_bytes = NA_U64;
	new.hierarchical_limit_bytes = new.hierarchical_memsw_bytes = NA_U64;
	if (!(version == 2 ? parse_stat_v2(t, &new) : parse_stat_v1(t, &new)))
		return fail(EINVAL, "memory.stat: no known key");
	*m = new;
	return 0;
}

int memcg_parse_events(struct text t, bool is_local, struct memcg *m)
{
	uint64_t high = NA_U64, max = NA_U64, oom = NA_U64, kills = NA_U64, group = NA_U64;
	const struct key keys[] = {
		KEY("high", &high), KEY("max", &max), KEY("oom", &oom), KEY("oom_kill", &kills),
		KEY("oom_group_kill", &group),
	};

	if (!take_keys(t, keys, sizeof(keys) / sizeof(*keys)))
		return fail(EINVAL, "memory.events%s: no known key", is_local ? ".local" : "");
	*(is_local ? &m->local_high_events : &m->high_events) = high;
	*(is_local ? &m->local_max_events : &m->max_events) = max;
	*(is_local ? &m->local_oom_events : &m->oom_events) = oom;
	*(is_local ? &m->local_oom_kills : &m->oom_kills) = kills;
	if (!is_local)
		m->oom_group_kills = group;
	return 0;
}

static int as_flag(uint64_t n)
{
	return n == NA_U64 ? -1 : n != 0;
}

int memcg_parse_oom_control(struct text t, struct memcg *m)
{
	uint64_t disabled = NA_U64, under = NA_U64, kills = NA_U64;
	const struct key keys[] = {
		KEY("oom_kill_disable", &disabled),
		KEY("under_oom", &under),
		KEY("oom_kill", &kills),
	};

	if (!take_keys(t, keys, sizeof(keys) / sizeof(*keys)))
		return fail(EINVAL, "memory.oom_control: no known key");
	m->oom_kill_disabled = as_flag(disabled);
	m->under_oom = as_flag(under);
	m->oom_kills = m->local_oom_kills = kills;
	return 0;
}

/* ---- reading ---- */

static void note_trouble(struct memcg *m, const char *name, const char *why)
{
	if (!m->trouble)
		m->trouble = name ? arena_printf(src_arena(), "%s: %s", name, why) :
			arena_strdup(src_arena(), why);
}

/*
 * A file that a kernel may not have is unknown; one that is there and can't be read is trouble. A
 * group that goes away meanwhile is neither. Whether there is something to parse.
 */
static bool read_file(struct src_dir *dir, const char *name, struct memcg *m, struct text *t)
{
	int err = src_dir_read(dir, name, t);

	/* pressure that is turned off */
	if (err < 0 && err != -ENOENT && err != -ENODEV && err != -EOPNOTSUPP)
		note_trouble(m, name, strerror(-err));
	return err >= 0;
}

static bool read_bytes(struct src_dir *dir, const char *name, struct memcg *m, uint64_t *bytes)
{
	struct text t;

	if (!read_file(dir, name, m, &t))
		return false;
	if (memcg_parse_bytes(t, bytes) < 0)
		note_trouble(m, name, fail_text());
	return true;
}

static bool read_count(struct src_dir *dir, const char *name, struct memcg *m, uint64_t *count)
{
	struct text t, line;

	if (!read_file(dir, name, m, &t))
		return false;
	struct scan s = scan_of(t);

	if (!scan_until(&s, '\n', &line) || !scan_all_u64(line, count))
		note_trouble(m, name, "not a number");
	return true;
}

static void read_flag(struct src_dir *dir, const char *name, struct memcg *m, int *flag)
{
	uint64_t n = NA_U64;

	read_count(dir, name, m, &n);
	*flag = as_flag(n);
}

static void read_stat(struct src_dir *dir, int version, struct memcg *m)
{
	struct text t;

	if (!read_file(dir, "memory.stat", m, &t)) {
		/* the root of v2 has not always had one */
		if (memcg_is_limit(m->limit_bytes))
			note_trouble(m, "memory.stat", "missing");
	} else if (memcg_parse_stat(t, version, m) < 0)
		note_trouble(m, NULL, fail_text());
}

static void read_limit_v2(struct src_dir *dir, struct memcg *m)
{
	struct text t;

	/* the root has none, nor a group whose parent does not give it the controller */
	if (!read_bytes(dir, "memory.max", m, &m->limit_bytes) && !m->trouble)
		m->limit_bytes = MEMCG_NONE;
	if (read_file(dir, "memory.events", m, &t) && memcg_parse_events(t, false, m) < 0)
		note_trouble(m, NULL, fail_text());
	m->is_hierarchical = 1;
}

static void read_usage_v2(struct src_dir *dir, struct memcg *m)
{
	struct text t;

	if (!read_bytes(dir, "memory.current", m, &m->usage_bytes) &&
	    memcg_is_limit(m->limit_bytes))
		note_trouble(m, "memory.current", "missing");
	if (!read_bytes(dir, "memory.high", m, &m->high_bytes) && !m->trouble)
		m->high_bytes = MEMCG_NONE;
	if (read_file(dir, "memory.pressure", m, &t) && psi_parse(t, &m->pressure) < 0)
		note_trouble(m, "memory.pressure", "no line with a total");
}

static void read_rest_v2(struct src_dir *dir, struct memcg *m)
{
	struct text t;

	if (read_file(dir, "memory.events.local", m, &t) && memcg_parse_events(t, true, m) < 0)
		note_trouble(m, NULL, fail_text());
	read_bytes(dir, "memory.peak", m, &m->peak_bytes);
	if (!read_bytes(dir, "memory.swap.max", m, &m->swap_limit_bytes))
		m->swap_limit_bytes = NA_U64;
	read_bytes(dir, "memory.swap.current", m, &m->swap_bytes);
	read_flag(dir, "memory.oom.group", m, &m->oom_group);
	read_stat(dir, 2, m);
}

static void read_limit_v1(struct src_dir *dir, struct memcg *m)
{
	struct text t;

	if (!read_bytes(dir, "memory.limit_in_bytes", m, &m->limit_bytes) && !m->trouble)
		m->limit_bytes = MEMCG_NONE;
	if (read_file(dir, "memory.oom_control", m, &t) && memcg_parse_oom_control(t, m) < 0)
		note_trouble(m, NULL, fail_text());
}

static void read_rest_v1(struct src_dir *dir, struct memcg *m)
{
	uint64_t memsw = NA_U64, memsw_failcnt = NA_U64;

	read_count(dir, "memory.failcnt", m, &m->failcnt);
	/* where both limits are the same, that of memory and swap is reached first (try_charge) */
	read_count(dir, "memory.memsw.failcnt", m, &memsw_failcnt);
	m->max_events = m->local_max_events = add_known(m->failcnt, memsw_failcnt);
	read_bytes(dir, "memory.max_usage_in_bytes", m, &m->peak_bytes);
	read_bytes(dir, "memory.memsw.limit_in_bytes", m, &m->memsw_limit_bytes);
	read_bytes(dir, "memory.kmem.limit_in_bytes", m, &m->kmem_limit_bytes);
	read_flag(dir, "memory.use_hierarchy", m, &m->is_hierarchical);
	read_stat(dir, 1, m);
	read_bytes(dir, "memory.kmem.usage_in_bytes", m, &m->kernel_bytes);
	if (read_bytes(dir, "memory.memsw.usage_in_bytes", m, &memsw))
		m->swap_bytes = delta_u64(memsw, m->usage_bytes) == NA_U64 ? m->swap_bytes :
			memsw - m->usage_bytes;
}

static void read_usage_v1(struct src_dir *dir, struct memcg *m)
{
	if (!read_bytes(dir, "memory.usage_in_bytes", m, &m->usage_bytes))
		note_trouble(m, "memory.usage_in_bytes", "missing");
}

static struct buf reused;              /* thousands of folders: one buffer for all */

int memcg_open(const struct cgroup_hierarchy *h, const char *folder, struct memcg_folder *f)
{
	struct memcg_folder new = { .version = h->version };
	int err = src_dir_open(&new.dir, folder);

	if (err < 0)
		return err;
	new.dir.buf = reused;
	reused = (struct buf){ 0 };
	*f = new;
	return 0;
}

void memcg_read(struct memcg_folder *f, enum memcg_depth depth, struct memcg *m)
{
	static void (*const readers[][2])(struct src_dir *, struct memcg *) = {
		[MEMCG_LIMIT] = { read_limit_v1, read_limit_v2 },
		[MEMCG_USAGE] = { read_usage_v1, read_usage_v2 },
		[MEMCG_ALL] = { read_rest_v1, read_rest_v2 },
	};

	if (f->done == MEMCG_NOTHING)
		*m = memcg_unknown;
	while (f->done < depth)
		readers[++f->done][f->version == 2](&f->dir, m);
}

void memcg_close(struct memcg_folder *f)
{
	buf_free(&reused);
	reused = f->dir.buf;
	f->dir.buf = (struct buf){ 0 };
	src_dir_close(&f->dir);
}

/* ---- what follows from it ---- */

uint64_t memcg_working_set(const struct memcg *m)
{
	uint64_t set = delta_u64(m->usage_bytes, m->inactive_file_bytes);

	/* the two are read one after the other: all of it may be inactive */
	return set == NA_U64 && m->usage_bytes != NA_U64 && m->inactive_file_bytes != NA_U64 ? 0
											     : set;
}

uint64_t memcg_reclaimable(const struct memcg *m)
{
	if (m->inactive_file_bytes == NA_U64 || m->active_file_bytes == NA_U64)
		return NA_U64;
	return add_known(add_known(m->inactive_file_bytes, m->active_file_bytes),
			 m->slab_reclaimable_bytes);
}

uint64_t memcg_unreclaimable(const struct memcg *m)
{
	uint64_t lists = m->anon_lists_bytes != NA_U64 ? m->anon_lists_bytes :
		add_known(m->anon_bytes, m->shmem_bytes);

	if (lists == NA_U64)
		return NA_U64;
	uint64_t sum = add_known(add_known(lists, m->unevictable_bytes), m->sock_bytes);
	uint64_t kernel = m->kernel_bytes;

	/* v1 does not say how much of it can shrink: dentries and inodes alone may fill a group */
	if (kernel == NA_U64 || m->slab_reclaimable_bytes == NA_U64)
		return sum;
	kernel -= m->slab_reclaimable_bytes < kernel ? m->slab_reclaimable_bytes : kernel;
	return add_known(sum, kernel);
}
