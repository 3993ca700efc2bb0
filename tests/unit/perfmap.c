#include "common/stack/perfmap.h"

#include "tests/unit/check.h"
#include "tests/unit/cut.h"

/* As node and the JVM write them, with a name over two lines and code put over older code. */
static const char written[] =
	"7f1200000000 100 LazyCompile:~fib /home/u/f.js:1\n"
	"7f1200000100 80 Builtin:ArgumentsAdaptorTrampoline\n"
	"7f1200000180 80 RegExp:two\n"
	"lines 7f12 and more\n"
	"7f1200000200 100 Ljava/lang/String;::hashCode\n"
	"7f1200000040 40 LazyCompile:*fib /home/u/f.js:1\n"
	"0x7f1200000300 0x20 with a prefix\n"
	"7f1200000280 10 inner\r\n"
	"7f1200000400 0 of no size\n"
	"fffffffffffffff0 ff at the end\n"
	"7f1200000400 40";

static const char *name_at(const struct perfmap *m, uint64_t address)
{
	static char name[128];
	struct text found;
	uint64_t start;

	if (!perfmap_find(m, address, &found, &start))
		return NULL;
	CHECK(address >= start);
	snprintf(name, sizeof(name), "%.*s", (int)found.len, found.data);
	return name;
}

static void check_written(void)
{
	struct perfmap *m = perfmap_new(TEXT(written));

	CHECK(perfmap_count(m) == 8);
	CHECK(perfmap_skipped(m) == 3);
	CHECK(!name_at(m, 0x7f11ffffffff));
	CHECK_STR(name_at(m, 0x7f1200000000), "LazyCompile:~fib /home/u/f.js:1");
	CHECK_STR(name_at(m, 0x7f120000003f), "LazyCompile:~fib /home/u/f.js:1");
	CHECK_STR(name_at(m, 0x7f1200000040), "LazyCompile:*fib /home/u/f.js:1");
	CHECK_STR(name_at(m, 0x7f120000007f), "LazyCompile:*fib /home/u/f.js:1");
	CHECK_STR(name_at(m, 0x7f1200000080), "LazyCompile:~fib /home/u/f.js:1");
	CHECK_STR(name_at(m, 0x7f1200000100), "Builtin:ArgumentsAdaptorTrampoline");
	CHECK_STR(name_at(m, 0x7f12000001ff), "RegExp:two");
	CHECK_STR(name_at(m, 0x7f1200000285), "inner");
	CHECK_STR(name_at(m, 0x7f1200000290), "Ljava/lang/String;::hashCode");
	CHECK_STR(name_at(m, 0x7f1200000310), "with a prefix");
	CHECK(!name_at(m, 0x7f1200000320));
	CHECK(!name_at(m, 0x7f1200000400));
	CHECK_STR(name_at(m, 0xfffffffffffffff8), "at the end");
	perfmap_free(m);
}

/* The same place again and again, each a little further: only the last of each byte is left. */
static void check_overwritten(void)
{
	char text[64 * 40];
	size_t len = 0;

	for (unsigned i = 0; i < 64; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%x 40 f%u\n",
					0x1000 + i, i);
	struct perfmap *m = perfmap_new((struct text){ text, len });

	CHECK_STR(name_at(m, 0x1000), "f0");
	CHECK_STR(name_at(m, 0x1020), "f32");
	CHECK_STR(name_at(m, 0x103f), "f63");
	CHECK_STR(name_at(m, 0x107e), "f63");
	CHECK(!name_at(m, 0x107f));
	perfmap_free(m);
}

static void check_cut(void)
{
	EACH_CUT(n, TEXT(written)) {
		struct perfmap *m = perfmap_new(cut(TEXT(written), n));
		const char *name = name_at(m, 0x7f1200000110);

		CHECK(!name || !strncmp(name, "Builtin:ArgumentsAdaptorTrampoline", strlen(name)));
		perfmap_free(m);
	}
}

int main(void)
{
	check_written();
	check_overwritten();
	check_cut();
	return check_done("perfmap");
}
