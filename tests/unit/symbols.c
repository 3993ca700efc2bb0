#include "common/stack/symbols.h"

#include <errno.h>
#include <lzma.h>
#include <sys/auxv.h>
#include <zstd.h>

#include "common/base/mem.h"
#include "common/stack/hostfile.h"
#include "tests/unit/elfmake.h"
#include "tests/unit/scratch.h"

#define CODE (SHF_ALLOC | SHF_EXECINSTR)
#define TEXT_AT 0x401000u
#define ID 0x01020304u
#define ID_HEX "01020304"
#define MAPPED 0x7f0000000000u

static const char code[0x100];

/* A program whose only function is called `name`; NULL: stripped. */
struct program {
	const char *name;
	uint32_t id;                   /* 0: none */
	const char *link;              /* .gnu_debuglink; NULL: none */
	uint32_t link_sum;
	struct text mini;              /* .gnu_debugdata */
};

static uint64_t text_offset;           /* of the program made last */

static struct text make_program(struct elfmake *m, const struct program *p)
{
	const struct elfmake_symbol symbol = {
		p->name, TEXT_AT + 0x10, 0x20, 1, STT_FUNC, STB_GLOBAL,
	};
	char link[64] = "";

	elfmake_begin(m, ET_DYN, EM_X86_64);
	elfmake_load(m, elfmake_section(m, ".text", SHT_PROGBITS, CODE, TEXT_AT, code,
					sizeof(code)), PF_R | PF_X);
	text_offset = m->sections[1].sh_offset;
	if (p->id)
		elfmake_build_id(m, p->id);
	if (p->name)
		elfmake_symbols(m, SHT_SYMTAB, ".symtab", ".strtab", &symbol, 1);
	if (p->link) {
		const size_t n = (strlen(p->link) + 4) & ~(size_t)3;

		memcpy(link, p->link, strlen(p->link));
		memcpy(link + n, &p->link_sum, 4);
		elfmake_section(m, ".gnu_debuglink", SHT_PROGBITS, 0, 0, link, n + 4);
	}
	if (p->mini.len)
		elfmake_section(m, ".gnu_debugdata", SHT_PROGBITS, 0, 0, p->mini.data,
				p->mini.len);
	return elfmake_end(m);
}

static void put_program(const char *below, struct program p)
{
	struct elfmake m;
	const struct text image = make_program(&m, &p);

	put(below, image.data, image.len);
	buf_free(&m.bytes);
}

/* The name at a byte of the program's function, as found at `path`; "" if there is none. */
static const char *look_up(struct symbols *s, const char *path, const char *build_id)
{
	static char name[128];
	const struct symbols_map map = {
		.path = path, .build_id = build_id, .start = MAPPED, .end = MAPPED + 0x1000,
		.pgoff = text_offset,
	};
	struct symbol found;

	symbols_find(s, &map, MAPPED + 0x18, false, &found);
	snprintf(name, sizeof(name), "%.*s", (int)found.name.len, found.name.data);
	CHECK(!found.name.len || found.offset == 8);
	return name;
}

static const char *look_up_once(const struct symbols_options *o, const char *path,
				const char *build_id)
{
	struct symbols *s = symbols_new(o);
	const char *name = look_up(s, path, build_id);

	symbols_free(s);
	return name;
}

static const struct symbols_options plain;

static void check_builds(void)
{
	const char *const *lines;

	put_program("named", (struct program){ .name = "_ZN3foo3barEi", .id = ID });
	CHECK_STR(look_up_once(&plain, at("named"), ID_HEX), "foo::bar");
	CHECK_STR(look_up_once(&plain, at("named"), NULL), "foo::bar");
	CHECK_STR(look_up_once(&plain, at("named"), ID_HEX "00000000"), "foo::bar");
	CHECK_STR(look_up_once(&plain, at("named"), "0102030405"), "");
	CHECK_STR(look_up_once(&plain, at("missing"), NULL), "");
	put_program("no-id", (struct program){ .name = "plain" });
	CHECK_STR(look_up_once(&plain, at("no-id"), NULL), "plain");
	CHECK_STR(look_up_once(&plain, at("no-id"), ID_HEX), "");

	struct symbols *s = symbols_new(&plain);

	CHECK_STR(look_up(s, at("named"), "0102030405"), "");
	CHECK(symbols_remarks(s, &lines) == 1 && strstr(lines[0], "another build"));
	symbols_free(s);
}

/* An upgrade puts another file where the recorded one was. */
static void check_inode(void)
{
	const struct symbols_options here = { .is_this_boot = true };
	struct stat st;
	struct symbol found;

	CHECK(!stat(at("named"), &st));
	struct symbols_map map = {
		.path = at("named"), .start = MAPPED, .end = MAPPED + 0x1000, .pgoff = text_offset,
		.inode = st.st_ino,
	};
	struct symbols *s = symbols_new(&here);

	CHECK(symbols_find(s, &map, MAPPED + 0x18, false, &found));
	symbols_free(s);
	s = symbols_new(&here);
	map.inode++;
	CHECK(!symbols_find(s, &map, MAPPED + 0x18, false, &found));
	symbols_free(s);
}

static void check_addresses(void)
{
	struct symbols *s = symbols_new(&plain);
	struct object *slot = NULL;
	const struct symbols_map map = {
		.path = at("named"), .start = MAPPED, .end = MAPPED + 0x1000, .pgoff = text_offset,
		.slot = &slot,
	};
	struct symbol found;
	char text[64];

	CHECK(symbols_find(s, &map, MAPPED + 0x10, false, &found) && found.offset == 0);
	CHECK(slot != NULL);
	/* a call that is a function's last instruction returns to the next function */
	CHECK(symbols_find(s, &map, MAPPED + 0x30, true, &found) && found.offset == 0x20);
	CHECK(!symbols_find(s, &map, MAPPED + 0x30, false, &found));
	CHECK(found.offset == TEXT_AT + 0x30);
	symbols_unnamed(&found, text, sizeof(text));
	CHECK_STR(text, "[named+0x401030]");
	CHECK(symbols_unnamed(&found, text, 8) == 7);
	CHECK_STR(text, "[named+");
	found = (struct symbol){ .offset = 5 };
	symbols_unnamed(&found, text, sizeof(text));
	CHECK_STR(text, "[unknown]");
	found.object = TEXT("[kernel.kallsyms]");
	symbols_unnamed(&found, text, sizeof(text));
	CHECK_STR(text, "[kernel+0x5]");
	symbols_free(s);
}

static struct text pack_xz(struct text t, unsigned char *out, size_t size)
{
	size_t n = 0;

	CHECK(lzma_easy_buffer_encode(1, LZMA_CHECK_CRC32, NULL, (const unsigned char *)t.data,
				      t.len, out, &n, size) == LZMA_OK);
	return (struct text){ (char *)out, n };
}

static void check_debug_files(void)
{
	unsigned char packed[8192];
	struct elfmake m;

	/* mini debug information inside; cut short it is as good as none */
	const struct text mini = pack_xz(make_program(&m, &(struct program){ .name = "mini" }),
					 packed, sizeof(packed));

	buf_free(&m.bytes);
	put_program("with-mini", (struct program){ .id = ID, .mini = mini });
	CHECK_STR(look_up_once(&plain, at("with-mini"), ID_HEX), "mini");
	put_program("with-cut", (struct program){ .id = ID, .mini = { mini.data, mini.len / 2 } });
	CHECK_STR(look_up_once(&plain, at("with-cut"), ID_HEX), "");

	/* a link: beside, in .debug; only of the same build */
	put_program("linked", (struct program){ .id = ID, .link = "linked.debug" });
	put_program("linked.debug", (struct program){ .name = "old", .id = ID + 1 });
	CHECK_STR(look_up_once(&plain, at("linked"), ID_HEX), "");
	make(".debug");
	put_program(".debug/linked.debug", (struct program){ .name = "apart", .id = ID });
	CHECK_STR(look_up_once(&plain, at("linked"), ID_HEX), "apart");

	/* without build ids the checksum decides; a name with a slash is not followed */
	put_program("sum.debug", (struct program){ .name = "summed" });
	put_program("sum", (struct program){ .link = "sum.debug", .link_sum = 1 });
	CHECK_STR(look_up_once(&plain, at("sum"), NULL), "");
	put_program("out", (struct program){ .id = ID, .link = "./.debug/linked.debug" });
	CHECK_STR(look_up_once(&plain, at("out"), NULL), "");
}

static void check_places(void)
{
	char list[512];

	make("fs"), make("fs/usr"), make("fs/usr/bin"), make("fs/usr/lib");
	make("fs/usr/lib/debug"), make("fs/usr/lib/debug/.build-id");
	make("fs/usr/lib/debug/.build-id/01");
	put_program("fs/usr/bin/real", (struct program){ .name = "inside", .id = ID });
	/* an absolute link means the recorded host's root, not ours */
	CHECK(!symlink("/usr/bin/real", at("fs/usr/bin/app")));
	const struct symbols_options symfs = { .symfs = at("fs") };

	CHECK_STR(look_up_once(&symfs, "/usr/bin/app", ID_HEX), "inside");
	CHECK_STR(look_up_once(&symfs, "/usr/bin/app (deleted)", NULL), "inside");
	put_program("fs/usr/bin/stripped", (struct program){ .id = ID });
	put_program("fs/usr/lib/debug/.build-id/01/020304.debug",
		    (struct program){ .name = "by_id", .id = ID });
	CHECK_STR(look_up_once(&symfs, "/usr/bin/stripped", ID_HEX), "by_id");

	snprintf(list, sizeof(list), "# kept elsewhere\n%s\n\nffffffffffffffff %s\n", at("named"),
		 at("no-id"));
	put_text("list", list);
	const struct symbols_options listed = { .buildids = at("list") };

	CHECK_STR(look_up_once(&listed, "/nowhere/app", ID_HEX), "foo::bar");
	CHECK_STR(look_up_once(&listed, "/nowhere/app", NULL), "");
}

/* What a recording may name to do harm: nothing of it is opened, nothing waits. */
static void check_hostile_paths(void)
{
	struct hostfile f;

	CHECK(!mkfifo(at("fifo"), 0644));
	CHECK(hostfile_map(NULL, at("fifo"), &f) == -ENXIO);
	CHECK(hostfile_map(NULL, "/dev/zero", &f) == -ENXIO);
	CHECK(hostfile_map(NULL, at("fs"), &f) == -ENXIO);
	CHECK(hostfile_map(NULL, at("missing"), &f) == -ENOENT);
	CHECK(!symlink("/dev/zero", at("fs/zero")));
	CHECK(hostfile_map(at("fs"), "/zero", &f) == -ENOENT);
	CHECK(!symlink("../../../../../../etc/passwd", at("fs/out")));
	CHECK(hostfile_map(at("fs"), "/out", &f) == -ENOENT);
	CHECK_STR(look_up_once(&plain, at("fifo"), NULL), "");
	put_text("empty", "");
	CHECK(!hostfile_map(NULL, at("empty"), &f) && !f.bytes.len);
	hostfile_unmap(&f);
	CHECK_STR(look_up_once(&plain, at("empty"), NULL), "");
	put_text("text", "no program\n");
	CHECK_STR(look_up_once(&plain, at("text"), NULL), "");
}

static bool find_jit(struct symbols *s, const char *path, uint64_t address, struct symbol *found)
{
	const struct symbols_map map = {
		.path = path, .start = 0x1000, .end = 0x9000, .pid = 4194303, .comm = "node",
	};

	return symbols_find(s, &map, address, false, found);
}

static void check_jit(void)
{
	struct symbols_options o = { .symfs = at("fs") };
	struct symbol found;
	const char *const *lines;

	make("fs/tmp");
	put_text("fs/tmp/perf-4194303.map", "2000 100 LazyCompile:*fib /a b.js:1\n");
	struct symbols *s = symbols_new(&o);

	CHECK(find_jit(s, "//anon", 0x2010, &found));
	CHECK(text_is(found.name, "LazyCompile:*fib /a b.js:1") && found.offset == 0x10);
	CHECK(text_is(found.object, "[JIT]"));
	CHECK(find_jit(s, "", 0x2010, &found));
	CHECK(find_jit(s, "/memfd:doublemapper (deleted)", 0x2010, &found));
	CHECK(!find_jit(s, "[anon:v8]", 0x3000, &found));
	CHECK(symbols_remarks(s, &lines) == 0);
	put_text("fs/tmp/perf-4194303.map", "3000 100 later\n");
	CHECK(!find_jit(s, "//anon", 0x3000, &found));
	symbols_forget_jit(s);
	CHECK(find_jit(s, "//anon", 0x3000, &found) && text_is(found.name, "later"));
	symbols_free(s);

	o.symfs = at("missing");
	s = symbols_new(&o);
	CHECK(!find_jit(s, "//anon", 0x2010, &found) && text_is(found.object, "[anon]"));
	CHECK(symbols_remarks(s, &lines) == 1 && strstr(lines[0], "--perf-basic-prof"));
	symbols_free(s);
	if (geteuid() == 0) {
		CHECK(!chown(at("fs/tmp/perf-4194303.map"), 65534, 65534));
		o.symfs = at("fs");
		s = symbols_new(&o);
		CHECK(!find_jit(s, "//anon", 0x3000, &found));
		CHECK(symbols_remarks(s, &lines) == 1 && strstr(lines[0], "user 65534"));
		symbols_free(s);
	}
}

/* ---- the kernel ---- */

static const char *kernel_name(struct symbols *s, const struct symbols_map *map, uint64_t address)
{
	static char name[128];
	struct symbol found;

	symbols_find_kernel(s, map, address, false, &found);
	if (found.name.len)
		snprintf(name, sizeof(name), "%.*s", (int)found.name.len, found.name.data);
	else
		symbols_unnamed(&found, name, sizeof(name));
	return name;
}

static void check_lists(void)
{
	static const struct symbols_kernel recorded = {
		.osrelease = "1.2.3-of-another-host", .reference = "[kernel.kallsyms]_text",
		.reference_address = 0xffffffff91000000,
	};
	const struct symbols_map module = {
		.path = "[xfs]", .start = 0xffffffffc0000000, .end = 0xffffffffc0010000,
		.is_kernel = true,
	};
	const char *const *lines;
	struct symbols *s = symbols_new(&plain);

	/* another kernel's names are never used */
	symbols_set_kernel(s, &recorded);
	CHECK_STR(kernel_name(s, NULL, 0xffffffff91000010), "[kernel+0x10]");
	CHECK(symbols_remarks(s, &lines) == 1 && strstr(lines[0], "1.2.3-of-another-host"));
	symbols_add_ksymbol(s, 0xffffffffa0001000, 0x100, TEXT("bpf_prog_0123456789abcdef_x"));
	symbols_add_ksymbol(s, 0xffffffffa0001000, 0x80, TEXT("bpf_prog_later"));
	CHECK_STR(kernel_name(s, NULL, 0xffffffffa0001000), "bpf_prog_later");
	CHECK_STR(kernel_name(s, NULL, 0xffffffffa0001080), "bpf_prog_0123456789abcdef_x");
	CHECK_STR(kernel_name(s, NULL, 0xffffffffa0001100), "[kernel+0xf001100]");
	symbols_free(s);

	/* a list that was named is moved to where the recorded kernel stood; modules can't be */
	put_text("kallsyms", "ffffffff81000000 T _text\nffffffff81000100 T do_it\n"
			     "ffffffff81000200 T _etext\nffffffffc0000000 t xfs_it\t[xfs]\n");
	const struct symbols_options listed = { .kallsyms = at("kallsyms") };

	s = symbols_new(&listed);
	symbols_set_kernel(s, &recorded);
	CHECK_STR(kernel_name(s, NULL, 0xffffffff91000110), "do_it");
	CHECK_STR(kernel_name(s, &module, 0xffffffffc0000010), "[xfs+0x10]");
	symbols_free(s);
	s = symbols_new(&listed);
	CHECK_STR(kernel_name(s, NULL, 0xffffffff81000110), "do_it");
	CHECK_STR(kernel_name(s, &module, 0xffffffffc0000010), "xfs_it");
	symbols_free(s);

	/* the same as a copy in the recording's own folder; one that is not there is none */
	struct symbols_kernel with_list = recorded;

	with_list.kallsyms = at("kallsyms");
	s = symbols_new(&plain);
	symbols_set_kernel(s, &with_list);
	CHECK_STR(kernel_name(s, NULL, 0xffffffff91000110), "do_it");
	CHECK(symbols_remarks(s, &lines) == 0);
	symbols_free(s);
	with_list.kallsyms = at("nosuch");
	s = symbols_new(&plain);
	symbols_set_kernel(s, &with_list);
	CHECK_STR(kernel_name(s, NULL, 0xffffffff91000110), "[kernel+0x110]");
	symbols_free(s);

	put_text("kallsyms", "0000000000000000 T _text\n");
	s = symbols_new(&listed);
	CHECK_STR(kernel_name(s, NULL, 0x10), "[kernel+0x10]");
	CHECK(symbols_remarks(s, &lines) == 1 && strstr(lines[0], "kptr_restrict"));
	symbols_free(s);
}

static void check_vmlinux(void)
{
	const struct elfmake_symbol symbols[] = {
		{ "_text", TEXT_AT, 0, 1, STT_NOTYPE, STB_GLOBAL },
		{ "_stext", TEXT_AT, 0, 1, STT_NOTYPE, STB_GLOBAL },
		{ "do_it", TEXT_AT + 0x10, 0x10, 1, STT_FUNC, STB_GLOBAL },
	};
	const struct symbols_options o = { .vmlinux = at("vmlinux") };
	struct symbols_kernel recorded = {
		.build_id = ID_HEX, .reference = "[kernel.kallsyms]_text",
		.reference_address = 0xffffffff91000000,
	};
	const char *const *lines;
	struct elfmake m;

	elfmake_begin(&m, ET_EXEC, EM_X86_64);
	elfmake_section(&m, ".text", SHT_PROGBITS, CODE, TEXT_AT, code, sizeof(code));
	elfmake_build_id(&m, ID);
	elfmake_symbols(&m, SHT_SYMTAB, ".symtab", ".strtab", symbols, 3);
	const struct text image = elfmake_end(&m);

	put("vmlinux", image.data, image.len);
	buf_free(&m.bytes);
	struct symbols *s = symbols_new(&o);

	symbols_set_kernel(s, &recorded);
	CHECK_STR(kernel_name(s, NULL, 0xffffffff91000018), "do_it");
	CHECK_STR(kernel_name(s, NULL, 0xffffffff91000028), "[kernel+0x28]");
	symbols_free(s);
	recorded.build_id = "ffff";
	s = symbols_new(&o);
	symbols_set_kernel(s, &recorded);
	CHECK_STR(kernel_name(s, NULL, 0xffffffff91000018), "[kernel+0x18]");
	CHECK(symbols_remarks(s, &lines) == 1 && strstr(lines[0], "not the recorded kernel"));
	symbols_free(s);
}

/* A module's file, packed as distributions do; found by path or through modules.dep. */
static void check_module(void)
{
	const struct elfmake_symbol symbol = { "it", 0x10, 0x10, 1, STT_FUNC, STB_LOCAL };
	const struct symbols_kernel recorded = { .osrelease = "1.2.3" };
	const struct symbols_options o = { .symfs = at("fs") };
	struct symbols_map map = {
		.path = "/lib/modules/1.2.3/kernel/it.ko.zst", .start = 0xffffffffc0000000,
		.end = 0xffffffffc0001000, .is_kernel = true,
	};
	char packed[4096];
	struct elfmake m;

	elfmake_begin(&m, ET_REL, EM_X86_64);
	elfmake_section(&m, ".text", SHT_PROGBITS, CODE, 0, code, sizeof(code));
	elfmake_build_id(&m, ID);
	elfmake_symbols(&m, SHT_SYMTAB, ".symtab", ".strtab", &symbol, 1);
	const struct text image = elfmake_end(&m);
	const size_t n = ZSTD_compress(packed, sizeof(packed), image.data, image.len, 1);

	CHECK(!ZSTD_isError(n));
	buf_free(&m.bytes);
	make("fs/lib"), make("fs/lib/modules"), make("fs/lib/modules/1.2.3");
	make("fs/lib/modules/1.2.3/kernel");
	put("fs/lib/modules/1.2.3/kernel/it.ko.zst", packed, n);
	put_text("fs/lib/modules/1.2.3/modules.dep",
		 "kernel/other.ko.zst:\nkernel/it.ko.zst: kernel/other.ko.zst\n");
	struct symbols *s = symbols_new(&o);

	symbols_set_kernel(s, &recorded);
	CHECK_STR(kernel_name(s, &map, 0xffffffffc0000018), "it");
	CHECK_STR(kernel_name(s, &map, 0xffffffffc0000028), "[it.ko.zst+0x28]");
	map.path = "[it]";
	CHECK_STR(kernel_name(s, &map, 0xffffffffc0000018), "it");
	map.path = "[unheard_of]";
	CHECK_STR(kernel_name(s, &map, 0xffffffffc0000018), "[unheard_of+0x18]");
	map.path = "/lib/modules/1.2.3/kernel/it.ko.zst";
	map.build_id = "ffff";
	CHECK_STR(kernel_name(s, &map, 0xffffffffc0000018), "[it.ko.zst+0x18]");
	symbols_free(s);
}

/* ---- this very process ---- */

static __attribute__((noinline)) void known_function(void)
{
	__asm__ volatile("");
}

static void check_self(void)
{
	const struct symbols_options here = { .is_this_boot = true };
	struct symbols *s = symbols_new(&here);
	struct symbol found;
	char self[512];
	const ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	known_function();
	CHECK(n > 0);
	self[n > 0 ? n : 0] = '\0';
	/* not PIE: the first page of the file is mapped where its first segment says */
	const struct symbols_map map = {
		.path = self, .start = 0x400000, .end = 0x40000000, .pid = (uint32_t)getpid(),
	};

	CHECK(symbols_find(s, &map, (uintptr_t)known_function, false, &found));
	CHECK(text_is(found.name, "known_function"));
	const struct symbols_map vdso = { .path = "[vdso]", .start = 0, .end = 0x2000 };
	bool is_named = false;

	for (uint64_t i = 0; i < 0x1000 && !is_named; i += 8)
		is_named = symbols_find(s, &vdso, i, false, &found) &&
			   text_starts(found.name, "__vdso_");
	if (getauxval(AT_SYSINFO_EHDR))
		CHECK(is_named);
	else
		check_skip("symbols vdso", "the kernel maps none");
	symbols_free(s);
}

int main(void)
{
	if (!scratch_begin("symbols"))
		return 1;
	setenv("HOME", at("home"), 1);
	check_builds();
	check_inode();
	check_addresses();
	check_debug_files();
	check_places();
	check_hostile_paths();
	check_jit();
	check_lists();
	check_vmlinux();
	check_module();
	check_self();
	scratch_end();
	return check_done("symbols");
}
