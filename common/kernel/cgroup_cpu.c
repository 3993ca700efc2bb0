/* The cpu and cpuacct controllers' numbers of one group: kernel/sched/core.c, cpuacct.c. */
#include "common/kernel/cgroup.h"

#include <errno.h>

#include "common/base/fail.h"
#include "common/base/scan.h"
#include "common/kernel/source.h"

#define NS_PER_USEC 1000u

struct key {
	const char *name;
	uint64_t *value;
	unsigned ns;                   /* of one unit; 1 also for plain counts */
};

static uint64_t times(uint64_t n, unsigned unit)
{
	uint64_t product;

	return n == NA_U64 || __builtin_mul_overflow(n, unit, &product) ? NA_U64 : product;
}

/* "KEY VALUE" lines; how many keys were known. The last line without its newline may be cut.
 * *garbled is the last known key whose value makes no sense; untouched if there is none. */
static unsigned take_keys(struct text t, const struct key *keys, size_t count, const char **garbled)
{
	struct scan lines = scan_of(t);
	struct text line, name;
	unsigned known = 0;

	while (scan_until(&lines, '\n', &line)) {
		struct scan s = scan_of(line);
		uint64_t n;

		if (!scan_word(&s, &name))
			continue;
		for (size_t i = 0; i < count; i++)
			if (text_is(name, keys[i].name)) {
				scan_blanks(&s);
				*keys[i].value = scan_all_u64(scan_rest(&s), &n) ?
					times(n, keys[i].ns) : NA_U64;
				if (*keys[i].value == NA_U64)
					*garbled = keys[i].name;
				known++;
			}
	}
	return known;
}

static const char *garbled_text(const char *key)
{
	fail(EINVAL, "cpu.stat: %s is not a number", key);
	return arena_strdup(src_arena(), fail_text());
}

int cgroup_parse_cpu_stat(struct text t, struct cgroup_cpu *cpu)
{
	struct cgroup_cpu new = *cpu;
	const struct key keys[] = {
		{ "usage_usec", &new.usage_ns, NS_PER_USEC },
		{ "nr_periods", &new.periods, 1 },
		{ "nr_throttled", &new.throttled_periods, 1 },
		{ "throttled_usec", &new.throttled_ns, NS_PER_USEC },
		{ "throttled_time", &new.throttled_ns, 1 },            /* v1 */
		{ "nr_bursts", &new.bursts, 1 },
		{ "burst_usec", &new.burst_used_ns, NS_PER_USEC },
		{ "burst_time", &new.burst_used_ns, 1 },               /* v1 */
	};

	new.usage_ns = new.periods = new.throttled_periods = new.throttled_ns = NA_U64;
	new.bursts = new.burst_used_ns = NA_U64;
	const char *garbled = NULL;

	if (!take_keys(t, keys, sizeof(keys) / sizeof(*keys), &garbled))
		return fail(EINVAL, "cpu.stat: no known key");
	/* the lines that do make sense are worth having all the same */
	if (garbled && !new.trouble)
		new.trouble = garbled_text(garbled);
	*cpu = new;
	return 0;
}

int cgroup_parse_cpu_local(struct text t, struct cgroup_cpu *cpu)
{
	uint64_t throttled_ns = NA_U64;
	const struct key keys[] = {
		{ "throttled_usec", &throttled_ns, NS_PER_USEC },
		{ "throttled_time", &throttled_ns, 1 },                /* v1 */
	};

	const char *garbled = NULL;

	if (!take_keys(t, keys, sizeof(keys) / sizeof(*keys), &garbled))
		return fail(EINVAL, "cpu.stat.local: no known key");
	cpu->local_throttled_ns = throttled_ns;
	return 0;
}

int cgroup_parse_cpu_max(struct text t, struct cgroup_cpu *cpu)
{
	struct scan lines = scan_of(t);
	struct text line, quota, period;
	uint64_t quota_usec = NA_U64, period_usec = NA_U64;

	if (!scan_line(&lines, &line))
		return fail(EINVAL, "cpu.max: empty");
	struct scan s = scan_of(line);

	if (!scan_word(&s, &quota))
		return fail(EINVAL, "cpu.max: empty");
	if (!text_is(quota, "max") && !scan_all_u64(quota, &quota_usec))
		return fail(EINVAL, "cpu.max: quota is neither a number nor max");
	if (scan_word(&s, &period) && !scan_all_u64(period, &period_usec))
		return fail(EINVAL, "cpu.max: period is not a number");
	cpu->quota_ns = times(quota_usec, NS_PER_USEC);
	cpu->period_ns = times(period_usec, NS_PER_USEC);
	cpu->has_quota_file = true;
	return 0;
}

/* The parsers' texts start with the file's name. Only the first is kept. */
static void note_trouble(struct cgroup_cpu *cpu)
{
	if (!cpu->trouble)
		cpu->trouble = arena_strdup(src_arena(), fail_text());
}

/* A file of one number in usec. That it is absent is no trouble: kernels differ. */
static uint64_t read_usec(struct src_dir *dir, const char *name, struct cgroup_cpu *cpu)
{
	struct text t;
	uint64_t usec;

	if (src_dir_read(dir, name, &t) < 0)
		return NA_U64;
	struct scan s = scan_of(t);

	if (scan_u64(&s, &usec))
		return times(usec, NS_PER_USEC);
	fail(EINVAL, "%s: no number", name);
	note_trouble(cpu);
	return NA_U64;
}

/* Whether it said anything. Missing, it is trouble only in a group that has a quota file. */
static bool read_stat(struct src_dir *dir, struct cgroup_cpu *cpu, int *err)
{
	struct text t;

	*err = src_dir_read(dir, "cpu.stat", &t);
	if (*err >= 0 && cgroup_parse_cpu_stat(t, cpu) == 0)
		return true;
	if (*err >= 0)
		note_trouble(cpu);
	return false;
}

static void note_missing_stat(int err, struct cgroup_cpu *cpu)
{
	if (err != -ENOENT || !cpu->has_quota_file)
		return;
	fail(ENOENT, "cpu.stat: missing");
	note_trouble(cpu);
}

/* A file costs more than all else about a group, so none is read that can say nothing. */
enum depth { QUOTA_ONLY, ALL };

static void read_local(struct src_dir *dir, struct cgroup_cpu *cpu)
{
	struct text t;

	/* empty where the controller is off */
	if (src_dir_read(dir, "cpu.stat.local", &t) >= 0 && t.len &&
	    cgroup_parse_cpu_local(t, cpu) < 0)
		note_trouble(cpu);
}

static int read_v2(struct src_dir *dir, enum depth depth, struct cgroup_cpu *cpu)
{
	struct text t;
	int err;
	bool has_any = read_stat(dir, cpu, &err);

	if (src_dir_read(dir, "cpu.max", &t) >= 0) {
		if (cgroup_parse_cpu_max(t, cpu) < 0)
			note_trouble(cpu);
		cpu->has_quota_file = has_any = true;
	}
	note_missing_stat(err, cpu);
	if (depth == ALL && cpu->has_quota_file)
		read_local(dir, cpu);
	if (depth == ALL && cpu->quota_ns != NA_U64)
		cpu->burst_ns = read_usec(dir, "cpu.max.burst", cpu);
	if (depth == ALL && src_dir_read(dir, "cpu.pressure", &t) >= 0 &&
	    psi_parse(t, &cpu->pressure) == 0)
		has_any = true;
	return has_any ? 0 : err < 0 ? err : -EINVAL;
}

static int read_v1(struct src_dir *dir, enum depth depth, struct cgroup_cpu *cpu)
{
	struct text t;
	int err;
	bool has_any = read_stat(dir, cpu, &err);

	cpu->has_quota_file = src_dir_read(dir, "cpu.cfs_quota_us", &t) >= 0;
	if (cpu->has_quota_file) {
		struct scan s = scan_of(t);
		int64_t usec;

		has_any = true;
		if (scan_i64(&s, &usec)) {
			/* -1: none */
			cpu->quota_ns = usec < 0 ? NA_U64 : times((uint64_t)usec, NS_PER_USEC);
		} else {
			fail(EINVAL, "cpu.cfs_quota_us: no number");
			note_trouble(cpu);
		}
	}
	note_missing_stat(err, cpu);
	if (cpu->quota_ns != NA_U64)
		cpu->period_ns = read_usec(dir, "cpu.cfs_period_us", cpu);
	if (depth == ALL && cpu->quota_ns != NA_U64)
		cpu->burst_ns = read_usec(dir, "cpu.cfs_burst_us", cpu);
	if (depth == ALL && cpu->has_quota_file)
		read_local(dir, cpu);
	return has_any ? 0 : err < 0 ? err : -EINVAL;
}

/* The same group's folder in cpuacct's hierarchy; NULL if it has none. */
static const char *usage_folder(const struct cgroup_layout *layout, const char *folder)
{
	const char *mount = layout->cpu.mount;
	size_t n = strlen(mount);

	if (layout->cpuacct.version != 1 || strncmp(folder, mount, n) != 0)
		return NULL;
	if (!strcmp(mount, layout->cpuacct.mount))
		return folder;
	return cgroup_folder(src_arena(), &layout->cpuacct,
			     cgroup_path(src_arena(), &layout->cpu, folder + n));
}

static uint64_t read_usage(const char *folder)
{
	struct text t;
	uint64_t ns;

	if (!folder || src_readf(&t, "%s/cpuacct.usage", folder) < 0)
		return NA_U64;
	struct scan s = scan_of(t);

	return scan_u64(&s, &ns) ? ns : NA_U64;
}

static int read_cpu(const struct cgroup_layout *layout, const char *folder, enum depth depth,
		    struct cgroup_cpu *cpu)
{
	struct cgroup_cpu new = {
		.quota_ns = NA_U64, .period_ns = NA_U64, .burst_ns = NA_U64, .periods = NA_U64,
		.throttled_periods = NA_U64, .throttled_ns = NA_U64, .local_throttled_ns = NA_U64,
		.bursts = NA_U64, .burst_used_ns = NA_U64, .usage_ns = NA_U64,
		.pressure = { NA_U64, NA_U64 },
	};
	static struct buf reused;              /* thousands of folders: one buffer for all */
	struct src_dir dir = { 0 };
	int err = src_dir_open(&dir, folder);

	if (err < 0)
		return err;
	dir.buf = reused;
	err = layout->cpu.version == 2 ? read_v2(&dir, depth, &new) : read_v1(&dir, depth, &new);
	reused = dir.buf;
	dir.buf = (struct buf){ 0 };
	src_dir_close(&dir);
	if (layout->cpu.version == 1 && depth == ALL) {
		new.usage_ns = read_usage(usage_folder(layout, folder));
		if (new.usage_ns != NA_U64)
			err = 0;
	}
	if (err == -EINVAL)
		return fail(EINVAL, "/%s: nothing of the cpu controller makes sense", folder);
	if (err < 0)
		return err;
	*cpu = new;
	return 0;
}

int cgroup_read_cpu(const struct cgroup_layout *layout, const char *folder, struct cgroup_cpu *cpu)
{
	return read_cpu(layout, folder, ALL, cpu);
}

int cgroup_read_quota(const struct cgroup_layout *layout, const char *folder,
		      struct cgroup_cpu *cpu)
{
	return read_cpu(layout, folder, QUOTA_ONLY, cpu);
}

int cgroup_parse_percpu(struct arena *arena, struct text t, const uint64_t **ns, unsigned *count)
{
	struct scan s = scan_of(t);
	struct text word;
	unsigned n = 0;

	while (n < UINT32_MAX && scan_word(&s, &word))
		n++;
	uint64_t *list = arena_alloc(arena, n * sizeof(*list));

	s = scan_of(t);
	for (unsigned i = 0; i < n; i++)
		if (!scan_word(&s, &word) || !scan_all_u64(word, &list[i]))
			return fail(EINVAL, "cpuacct.usage_percpu: not a list of numbers");
	*ns = list;
	*count = n;
	return 0;
}

int cgroup_read_percpu(const struct cgroup_layout *layout, const char *path, const uint64_t **ns,
		       unsigned *count)
{
	static const uint64_t none[1];
	struct text t;
	const char *folder = layout->cpuacct.version == 1 ?
		cgroup_folder(src_arena(), &layout->cpuacct, path) : NULL;

	if (!folder) {
		*ns = none, *count = 0;
		return 0;
	}
	int err = src_readf(&t, "%s/cpuacct.usage_percpu", folder);

	return err < 0 ? err : cgroup_parse_percpu(src_arena(), t, ns, count);
}
