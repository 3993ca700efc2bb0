/*
 * A stack, and the object it runs through, of anybody's making: unwinding ends, within bounds. The
 * input: 192 bytes of registers, two of the stack's length, the stack, the object.
 */
#include "common/stack/unwind.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <stdio.h>
#include <unistd.h>

#define REGISTERS 24
#define FRAMES 64
#define BASE 0x10000000ull

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct object_at {
	char path[40];
	uint64_t end;
};

static bool find_map(void *arg, uint64_t address, struct symbols_map *map)
{
	const struct object_at *o = arg;

	if (address < BASE || address >= o->end)
		return false;
	*map = (struct symbols_map){ .path = o->path, .start = BASE, .end = o->end };
	return true;
}

static void unwind_all(struct unwind_sample *sample, struct object_at *o)
{
	static const struct symbols_options plain;
	struct symbols *s = symbols_new(&plain);
	uint64_t ips[FRAMES];
	enum unwind_end end;

	for (unsigned machine = UNWIND_X86_64; machine <= UNWIND_ARM64; machine++) {
		sample->machine = machine;
		if (unwind_stack(s, sample, find_map, o, ips, FRAMES, &end) > FRAMES ||
		    end >= UNWIND_ENDS)
			abort();
	}
	symbols_free(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t registers[REGISTERS + 16] = { 0 };
	struct object_at o = { .end = BASE };
	uint16_t stack;

	if (size < REGISTERS * 8 + 2)
		return 0;
	memcpy(registers, data, REGISTERS * 8);
	memcpy(&stack, data + REGISTERS * 8, 2);
	data += REGISTERS * 8 + 2;
	size -= REGISTERS * 8 + 2;
	if (stack > size)
		stack = (uint16_t)size;
	/* addresses that lead somewhere are rare otherwise: 32 bits below what is mapped */
	registers[8] = BASE + (registers[8] & 0xffff);
	registers[32] = registers[8];
	struct unwind_sample sample = {
		.abi = 2, .mask = 0x1ffffffffull, .registers = registers, .register_count = 33,
		.stack = { (const char *)data, stack },
	};
	const int fd = memfd_create("object", MFD_CLOEXEC);

	if (fd < 0 || write(fd, data + stack, size - stack) != (ssize_t)(size - stack))
		abort();
	o.end += size - stack;
	snprintf(o.path, sizeof(o.path), "/proc/self/fd/%d", fd);
	unwind_all(&sample, &o);
	close(fd);
	return 0;
}
