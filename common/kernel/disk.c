#include "common/kernel/disk.h"

#include <errno.h>
#include <stdbool.h>

#include "common/base/hash.h"
#include "common/base/scan.h"
#include "common/kernel/source.h"

#define NS_PER_MS 1000000u
/* always, whatever the device's (include/linux/blk_types.h) */
#define BYTES_PER_SECTOR 512u
#define COLUMNS_LEAST 11               /* behind the name, before Linux 4.18 */

static bool parse_line(struct arena *arena, struct text line, struct disk *d)
{
	struct disk new = { 0 };
	uint64_t *const columns[] = {
		&new.reads, &new.reads_merged, &new.read_sectors, &new.read_ms,
		&new.writes, &new.writes_merged, &new.write_sectors, &new.write_ms,
		&new.in_flight, &new.busy_ms, &new.weighted_ms,
		&new.discards, &new.discards_merged, &new.discard_sectors, &new.discard_ms,
		&new.flushes, &new.flush_ms,
	};
	const size_t most = sizeof(columns) / sizeof(*columns);
	struct scan s = scan_of(line);
	struct text name, word;
	size_t n = 0;

	if (!scan_u64(&s, &new.major) || !scan_u64(&s, &new.minor) || !scan_word(&s, &name))
		return false;
	for (; n < most && scan_word(&s, &word); n++)
		if (!scan_all_u64(word, columns[n]))
			return false;
	if (n < COLUMNS_LEAST)
		return false;
	for (; n < most; n++)
		*columns[n] = NA_U64;
	new.name = arena_text(arena, name);
	*d = new;
	return true;
}

void disk_parse(struct arena *arena, struct text t, struct disks *disks)
{
	struct scan lines = scan_of(t);
	struct text line;
	size_t room = 0;
	unsigned number = 0;

	while (room < DISKS_MAX && scan_line(&lines, &line))
		room++;
	struct disks new = { arena_alloc(arena, room * sizeof(*new.items)), 0, 0 };

	lines = scan_of(t);
	while (number < room && scan_line(&lines, &line)) {
		/* without its newline a line may be cut */
		bool is_whole = line.data + line.len < t.data + t.len;

		number++;
		if (is_whole && parse_line(arena, line, &new.items[new.count]))
			new.count++;
		else if (!new.garbled_line)
			new.garbled_line = number;
	}
	*disks = new;
}

/* In sysfs a slash in a name ("cciss/c0d0") is a "!". */
static char *sysfs_name(struct arena *arena, const char *name)
{
	char *copy = arena_strdup(arena, name);

	for (char *p = copy; *p; p++)
		if (*p == '/')
			*p = '!';
	return copy;
}

static bool is_idle_kind(const struct disk *d)
{
	static const char *const kinds[] = { "ram", "loop", "nbd", "sr", "fd" };

	if (d->reads || d->writes)
		return false;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		const char *digit = d->name + strlen(kinds[i]);

		if (text_starts(text_of(d->name), kinds[i]) && *digit >= '0' && *digit <= '9')
			return true;
	}
	return false;
}

int disk_read(struct arena *arena, struct disks *disks)
{
	struct text t;
	struct src_names names;
	struct hash whole = { 0 };
	struct disks new;
	int err = src_read("proc/diskstats", &t);

	if (err < 0)
		return err;
	disk_parse(arena, t, &new);
	bool has_list = src_list("sys/block", &names) >= 0;
	size_t kept = 0;

	for (size_t i = 0; has_list && i < names.count; i++)
		*hash_name(&whole, names.items[i]) = &whole;
	for (size_t i = 0; i < new.count; i++) {
		const struct disk *d = &new.items[i];

		if (has_list && !hash_find_name(&whole, sysfs_name(src_arena(), d->name)))
			continue;
		if (!is_idle_kind(d))
			new.items[kept++] = *d;
	}
	hash_free(&whole);
	new.count = kept;
	*disks = new;
	return 0;
}

uint64_t disk_read_errors(const char *name)
{
	struct text t, line;
	uint64_t n;

	if (src_readf(&t, "sys/block/%s/device/ioerr_cnt", sysfs_name(src_arena(), name)) < 0)
		return NA_U64;
	struct scan s = scan_of(t);

	if (!scan_until(&s, '\n', &line))
		return NA_U64;
	s = scan_of(line);
	return scan_literal(&s, "0x") && scan_hex(&s, &n) && s.at == s.end ? n : NA_U64;
}

static uint64_t sum(uint64_t a, uint64_t b)
{
	uint64_t n;

	return a == NA_U64 || b == NA_U64 || __builtin_add_overflow(a, b, &n) ? NA_U64 : n;
}

/* Time per request; unknown, not 0, where none completed. */
static double average_ns(uint64_t ms, uint64_t requests)
{
	return ratio_of(ms, requests) * NS_PER_MS;
}

static double share_of(uint64_t ms, uint64_t elapsed_ns)
{
	return ratio_of(ms, elapsed_ns) * NS_PER_MS;
}

void disk_measure(const struct disk *before, const struct disk *now, uint64_t elapsed_ns,
		  struct disk_rates *rates)
{
	uint64_t reads = delta_u64(now->reads, before->reads);
	uint64_t writes = delta_u64(now->writes, before->writes);
	uint64_t read_ms = delta_u64(now->read_ms, before->read_ms);
	uint64_t write_ms = delta_u64(now->write_ms, before->write_ms);
	uint64_t read_sectors = delta_u64(now->read_sectors, before->read_sectors);
	uint64_t write_sectors = delta_u64(now->write_sectors, before->write_sectors);

	*rates = (struct disk_rates){
		.busy_ratio = share_of(delta_u64(now->busy_ms, before->busy_ms), elapsed_ns),
		.queue = share_of(delta_u64(now->weighted_ms, before->weighted_ms), elapsed_ns),
		.await_ns = average_ns(sum(read_ms, write_ms), sum(reads, writes)),
		.read_await_ns = average_ns(read_ms, reads),
		.write_await_ns = average_ns(write_ms, writes),
		.reads_per_second = rate_of(reads, elapsed_ns),
		.writes_per_second = rate_of(writes, elapsed_ns),
		.read_bytes_per_second = rate_of(read_sectors, elapsed_ns) * BYTES_PER_SECTOR,
		.write_bytes_per_second = rate_of(write_sectors, elapsed_ns) * BYTES_PER_SECTOR,
	};
}
