#include "common/kernel/procmaps.h"

#include "tests/unit/check.h"
#include "tests/unit/cut.h"

static void test_recorded(void)
{
	struct procmap m;

	CHECK(procmap_parse(TEXT("7f1e5c026000-7f1e5c17c000 r-xp 00026000 fe:01 1049190    "
				 "                /usr/lib/x86_64-linux-gnu/libc.so.6"), &m));
	CHECK(m.start == 0x7f1e5c026000 && m.end == 0x7f1e5c17c000 && m.pgoff == 0x26000);
	CHECK(m.major == 0xfe && m.minor == 1 && m.inode == 1049190 && m.is_executable);
	CHECK(text_is(m.path, "/usr/lib/x86_64-linux-gnu/libc.so.6"));
	CHECK(procmap_parse(TEXT("7ffd1a5e2000-7ffd1a603000 rw-p 00000000 00:00 0  [stack]"), &m));
	CHECK(!m.is_executable && text_is(m.path, "[stack]") && !m.inode);
	CHECK(procmap_parse(TEXT("1000-2000 r-xp 00000000 00:00 0 "), &m));
	CHECK(!m.path.len);
	CHECK(procmap_parse(TEXT("1000-2000 r-xp 00000000 00:01 5 /a b (deleted)"), &m));
	CHECK(text_is(m.path, "/a b (deleted)"));
}

static void test_cut_and_hostile(void)
{
	const struct text whole = TEXT("1000-2000 r-xp 00000100 fe:01 77 /x");
	struct procmap m;

	EACH_CUT(n, whole) {
		if (!procmap_parse(cut(whole, n), &m))
			continue;
		CHECK(m.start == 0x1000 && m.end == 0x2000 && m.pgoff == 0x100);
	}
	CHECK(!procmap_parse(TEXT(""), &m));
	CHECK(!procmap_parse(TEXT("2000-1000 r-xp 0 0:0 0 x"), &m));
	CHECK(!procmap_parse(TEXT("1000-2000 r 0 0:0 0 x"), &m));
	CHECK(!procmap_parse(TEXT("1000-20000000000000000 r-xp 0 0:0 0 x"), &m));
	CHECK(!procmap_parse(TEXT("1000 r-xp 0 0:0 0 x"), &m));
	CHECK(!procmap_parse(TEXT("\xff-\0 r-xp"), &m));
}

int main(void)
{
	test_recorded();
	test_cut_and_hostile();
	return check_done("procmaps");
}
