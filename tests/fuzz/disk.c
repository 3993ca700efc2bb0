/* Any bytes as /proc/diskstats, and the rates between every two disks that come out. */
#include "common/kernel/disk.h"

#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena arena = { 0 };
	struct disks d;
	struct disk_rates r;
	size_t lines = 0;

	for (size_t i = 0; i < size; i++)
		lines += data[i] == '\n';
	disk_parse(&arena, (struct text){ (const char *)data, size }, &d);
	assert(d.count <= lines && d.garbled_line <= lines + 1);
	for (size_t i = 0; i < d.count; i++) {
		assert(d.items[i].name);
		disk_measure(&d.items[0], &d.items[i], i, &r);
		disk_measure(&d.items[i], &d.items[0], 1000000000, &r);
		assert(!(r.busy_ratio < 0) && !(r.queue < 0) && !(r.await_ns < 0));
		assert(!(r.read_bytes_per_second < 0) && !(r.write_bytes_per_second < 0));
	}
	arena_free(&arena);
	return 0;
}
