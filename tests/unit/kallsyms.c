#include "common/stack/kallsyms.h"

#include "common/base/buf.h"
#include "tests/unit/check.h"
#include "tests/unit/cut.h"

/* Recorded (6.18), parts of it; modules as on a host that has some. */
static const char recorded[] =
	"0000000000000000 A fixed_percpu_data\n"
	"ffffffff81000000 T srso_alias_untrain_ret\n"
	"ffffffff81000000 T _stext\n"
	"ffffffff81000000 T _text\n"
	"ffffffff81000080 T startup_64\n"
	"ffffffff810000c0 t __pfx_secondary\n"
	"ffffffff810000d0 T secondary_startup_64\n"
	"ffffffff81000200 t local_alias\n"
	"ffffffff81000200 W weak_alias\n"
	"ffffffff81000200 T do_one\n"
	"ffffffff81000200 T __do_one\n"
	"ffffffff81000280 T __SCT__do_two\n"
	"ffffffff81000280 T do_two\n"
	"ffffffff81000300 T _etext\n"
	"ffffffff82000000 D some_data\n"
	"ffffffffc0001000 t xfs_first\t[xfs]\n"
	"ffffffffc0001040 t xfs_last\t[xfs]\n"
	"ffffffffc0100000 t bpf_prog_6deef7357e7b4530_count\t[bpf]\n";

static struct kallsyms *read_text(const char *data, size_t len)
{
	struct buf b = { 0 };

	buf_add(&b, data, len);
	return kallsyms_new(&b);
}

static const char *name_at(const struct kallsyms *k, uint64_t address)
{
	struct kallsyms_symbol found;

	return kallsyms_find(k, address, &found) ? found.name : NULL;
}

static void check_recorded(void)
{
	struct kallsyms *k = read_text(recorded, sizeof(recorded) - 1);
	struct kallsyms_symbol found;
	uint64_t at = 0;

	CHECK(kallsyms_state(k) == KALLSYMS_GOOD);
	CHECK(kallsyms_skipped(k) == 0);
	CHECK(!name_at(k, 0xffffffff80ffffff));
	CHECK_STR(name_at(k, 0xffffffff81000000), "srso_alias_untrain_ret");
	CHECK_STR(name_at(k, 0xffffffff810000c8), "startup_64");
	CHECK_STR(name_at(k, 0xffffffff81000210), "do_one");
	CHECK_STR(name_at(k, 0xffffffff81000280), "do_two");
	CHECK_STR(name_at(k, 0xffffffff810002ff), "do_two");
	CHECK(!name_at(k, 0xffffffff81000300));
	CHECK(!name_at(k, 0xffffffff82000000));
	CHECK(kallsyms_find(k, 0xffffffffc0001020, &found));
	CHECK_STR(found.name, "xfs_first");
	CHECK(text_is(found.module, "[xfs]") && found.start == 0xffffffffc0001000);
	CHECK(kallsyms_find(k, 0xffffffffc0001fff, &found));
	CHECK_STR(found.name, "xfs_last");
	CHECK(!name_at(k, 0xffffffffc0002000));
	CHECK(kallsyms_find(k, 0xffffffffc0100001, &found));
	CHECK(text_is(found.module, "[bpf]"));
	CHECK(kallsyms_find(k, 0xffffffff81000090, &found) && !found.module.len);
	CHECK(kallsyms_mark(k, "_text", &at) && at == 0xffffffff81000000);
	CHECK(!kallsyms_mark(k, "startup_64", &at));
	kallsyms_free(k);
}

static void check_other(void)
{
	static const char hidden[] = "0000000000000000 T _text\n0000000000000000 t a\t[xfs]\n";
	static const char odd[] = "\n\xff\xff T x\nffffffff81000000 T\nffffffff81000000 TT y\n"
				  "ffffffffffffffffff T z\nffffffff81000010 T good\t[unclosed\n"
				  "fffffffffffffff0 T last [no tab] more";
	struct kallsyms *k = read_text(hidden, sizeof(hidden) - 1);

	CHECK(kallsyms_state(k) == KALLSYMS_HIDDEN);
	CHECK(!name_at(k, 0));
	kallsyms_free(k);
	k = read_text("", 0);
	CHECK(kallsyms_state(k) == KALLSYMS_EMPTY);
	kallsyms_free(k);
	k = read_text(odd, sizeof(odd) - 1);
	CHECK(kallsyms_state(k) == KALLSYMS_GOOD);
	CHECK(kallsyms_skipped(k) == 4);
	CHECK_STR(name_at(k, 0xffffffff81000011), "good");
	CHECK_STR(name_at(k, UINT64_MAX - 1), "last");
	kallsyms_free(k);
}

static void check_cut(void)
{
	EACH_CUT(n, TEXT(recorded)) {
		struct text t = cut(TEXT(recorded), n);
		struct kallsyms *k = read_text(t.data, t.len);
		const char *name = name_at(k, 0xffffffff81000080);

		CHECK(!name || !strncmp("startup_64", name, strlen(name)) ||
		      !strncmp(name, "srso_alias_untrain_ret", strlen(name)) ||
		      !strcmp(name, "_stext"));
		kallsyms_free(k);
	}
}

int main(void)
{
	check_recorded();
	check_other();
	check_cut();
	return check_done("kallsyms");
}
