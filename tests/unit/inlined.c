#include "common/stack/symbols.h"

#include <stdlib.h>
#include <unistd.h>

#include "tests/unit/check.h"

/* This test is its own example: it is built with debug information, and is not PIE. */

static uintptr_t called_from;
static unsigned called_line, middle_line, outer_line;

static __attribute__((noinline)) void note_caller(void)
{
	called_from = (uintptr_t)__builtin_return_address(0);
	__asm__ volatile("" ::: "memory");
}

static inline __attribute__((always_inline)) void inner(void)
{
	called_line = __LINE__ + 1;
	note_caller();
	__asm__ volatile("" ::: "memory");
}

static inline __attribute__((always_inline)) void middle(void)
{
	middle_line = __LINE__ + 1;
	inner();
	__asm__ volatile("" ::: "memory");
}

static __attribute__((noinline)) void outer(void)
{
	outer_line = __LINE__ + 1;
	middle();
	__asm__ volatile("" ::: "memory");
}

static bool is_line(struct text t, unsigned line)
{
	char want[40];

	snprintf(want, sizeof(want), "inlined.c:%u", line);
	if (text_is(t, want))
		return true;
	printf("    %.*s, not %s\n", (int)t.len, t.data, want);
	return false;
}

static void check_self(struct symbols *s, const struct symbols_map *map)
{
	struct symbol found[SYMBOLS_INLINED_MAX];

	outer();
	/* twice: the second time from what was kept */
	for (unsigned i = 0; i < 2; i++) {
		const size_t n = symbols_find_inlined(s, map, called_from, true, found,
						      SYMBOLS_INLINED_MAX);

		if (!CHECK(n == 3))
			return;
		CHECK(text_is(found[0].name, "inner") && text_is(found[1].name, "middle"));
		CHECK(text_is(found[2].name, "outer"));
		CHECK(is_line(found[0].line, called_line) && is_line(found[1].line, middle_line));
		CHECK(is_line(found[2].line, outer_line));
		CHECK(found[0].object.len && found[2].offset);
	}
	/* where there is no room for all, the function itself is better than a part of them */
	CHECK(symbols_find_inlined(s, map, called_from, true, found, 2) == 1);
	CHECK(text_is(found[0].name, "outer"));
	/* a function of its own, and no function at all */
	CHECK(symbols_find_inlined(s, map, (uintptr_t)note_caller, false, found, 8) == 1);
	CHECK(text_is(found[0].name, "note_caller") && found[0].line.len);
	CHECK(symbols_find_inlined(s, map, map->start + 1, false, found, 8) == 1);
	CHECK(!found[0].name.len && !found[0].line.len);
}

int main(void)
{
	static const struct symbols_options plain = { .inlines = true };
	struct symbols *s = symbols_new(&plain);
	struct symbol found[8];
	char self[512];
	const ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	CHECK(n > 0);
	self[n > 0 ? n : 0] = '\0';
	const struct symbols_map map = { .path = self, .start = 0x400000, .end = 0x40000000 };

	check_self(s, &map);
	const struct symbols_map vdso = { .path = "[nothing]", .start = 0, .end = 0x1000 };

	CHECK(symbols_find_inlined(s, &vdso, 0x10, false, found, 8) == 1 && !found[0].name.len);
	symbols_free(s);
	return check_done("inlined");
}
