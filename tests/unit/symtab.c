#include "common/stack/symtab.h"

#include "common/stack/elfimage.h"
#include "tests/unit/check.h"
#include "tests/unit/cut.h"
#include "tests/unit/elfmake.h"

#define CODE (SHF_ALLOC | SHF_EXECINSTR)

static const char *name_at(const struct symtab *t, uint64_t address)
{
	const struct symtab_entry *e = symtab_find(t, address);

	return e ? symtab_name(t, e) : NULL;
}

static const struct elfmake_symbol aliases[] = {
	{ "sized", 0x1000, 16, 1, STT_FUNC, STB_GLOBAL },
	{ "unsized", 0x1000, 0, 1, STT_FUNC, STB_GLOBAL },
	{ "a_local_one", 0x1010, 16, 1, STT_FUNC, STB_LOCAL },
	{ "a_weak_one", 0x1010, 16, 1, STT_FUNC, STB_WEAK },
	{ "global", 0x1010, 16, 1, STT_FUNC, STB_GLOBAL },
	{ "__global", 0x1010, 16, 1, STT_FUNC, STB_GLOBAL },
	{ "outer", 0x1020, 0x40, 1, STT_FUNC, STB_GLOBAL },
	{ "inner", 0x1030, 0x10, 1, STT_FUNC, STB_LOCAL },
	{ "label", 0x1048, 0, 1, STT_NOTYPE, STB_LOCAL },
	{ "$x", 0x1060, 0, 1, STT_NOTYPE, STB_LOCAL },
	{ ".Lown", 0x1060, 0, 1, STT_NOTYPE, STB_LOCAL },
	{ "", 0x1060, 8, 1, STT_FUNC, STB_LOCAL },
	{ "data", 0x1060, 8, 1, STT_OBJECT, STB_GLOBAL },
	{ "assembler", 0x1070, 0, 1, STT_NOTYPE, STB_GLOBAL },
	{ "ifunc", 0x1080, 16, 1, STT_GNU_IFUNC, STB_GLOBAL },
	{ "undefined", 0x1090, 16, SHN_UNDEF, STT_FUNC, STB_GLOBAL },
	{ "absolute", 0x1090, 16, SHN_ABS, STT_FUNC, STB_GLOBAL },
	{ "elsewhere", 0x1090, 16, 2, STT_FUNC, STB_GLOBAL },
	{ "to_the_end", 0x10f0, 0, 1, STT_FUNC, STB_GLOBAL },
};

static void check_names(struct text image)
{
	struct symtab *t = symtab_new();
	struct elfimage e;

	CHECK(!elfimage_open(image, &e) && symtab_add_elf(t, &e));
	symtab_seal(t);
	CHECK(!name_at(t, 0xfff));
	CHECK_STR(name_at(t, 0x1000), "sized");
	CHECK_STR(name_at(t, 0x100f), "sized");
	CHECK_STR(name_at(t, 0x1010), "global");
	CHECK_STR(name_at(t, 0x1020), "outer");
	CHECK_STR(name_at(t, 0x1030), "inner");
	CHECK_STR(name_at(t, 0x103f), "inner");
	CHECK_STR(name_at(t, 0x1040), "outer");
	CHECK_STR(name_at(t, 0x1050), "outer");
	CHECK(!name_at(t, 0x1060));
	CHECK_STR(name_at(t, 0x107f), "assembler");
	CHECK_STR(name_at(t, 0x1080), "ifunc");
	CHECK(!name_at(t, 0x1090));
	CHECK_STR(name_at(t, 0x10ff), "to_the_end");
	CHECK(!name_at(t, 0x1100));
	CHECK(!symtab_is_cut(t));
	symtab_free(t);
}

static void check_program(void)
{
	static const char code[0x100];
	struct elfmake m;

	elfmake_begin(&m, ET_DYN, EM_X86_64);
	elfmake_section(&m, ".text", SHT_PROGBITS, CODE, 0x1000, code, sizeof(code));
	elfmake_section(&m, ".data", SHT_PROGBITS, SHF_ALLOC, 0x2000, code, sizeof(code));
	elfmake_symbols(&m, SHT_SYMTAB, ".symtab", ".strtab", aliases,
			sizeof(aliases) / sizeof(*aliases));
	const struct text image = elfmake_end(&m);

	check_names(image);
	EACH_CUT(n, image) {
		struct symtab *t = symtab_new();
		struct elfimage e;

		if (!elfimage_open(cut(image, n), &e) && symtab_add_elf(t, &e)) {
			symtab_seal(t);
			name_at(t, 0x1020);
		}
		symtab_free(t);
	}
	buf_free(&m.bytes);
}

/* A kernel module: .text, then .text.unlikely at its alignment; .init.text is not with them. */
static void check_object(void)
{
	static const char code[0x40];
	const struct elfmake_symbol symbols[] = {
		{ "hot", 0x10, 0x10, 1, STT_FUNC, STB_GLOBAL },
		{ "cold", 4, 8, 3, STT_FUNC, STB_LOCAL },
		{ "start", 0, 8, 2, STT_FUNC, STB_GLOBAL },
	};
	struct symtab *t = symtab_new();
	struct elfmake m;
	struct elfimage e;

	elfmake_begin(&m, ET_REL, EM_X86_64);
	elfmake_section(&m, ".text", SHT_PROGBITS, CODE, 0, code, 0x23);
	elfmake_section(&m, ".init.text", SHT_PROGBITS, CODE, 0, code, 0x20);
	m.sections[elfmake_section(&m, ".text.unlikely", SHT_PROGBITS, CODE, 0, code,
				   0x20)].sh_addralign = 16;
	elfmake_symbols(&m, SHT_SYMTAB, ".symtab", ".strtab", symbols, 3);
	CHECK(!elfimage_open(elfmake_end(&m), &e) && symtab_add_elf(t, &e));
	symtab_seal(t);
	CHECK(!name_at(t, 0));
	CHECK_STR(name_at(t, 0x10), "hot");
	CHECK_STR(name_at(t, 0x34), "cold");
	CHECK(!name_at(t, 0x3c));
	symtab_free(t);
	buf_free(&m.bytes);
}

/* Stubs of two machines, as their linkers write them. */
static void check_plt(unsigned machine, const unsigned char *code, size_t len, uint64_t second)
{
	const struct elfmake_symbol imported[] = {
		{ "malloc", 0, 0, SHN_UNDEF, STT_FUNC, STB_GLOBAL },
		{ "free", 0, 0, SHN_UNDEF, STT_FUNC, STB_GLOBAL },
	};
	const Elf64_Rela relocations[] = {
		{ 0x4018, ELF64_R_INFO(1, R_X86_64_JUMP_SLOT), 0 },
		{ 0x4020, ELF64_R_INFO(2, R_X86_64_JUMP_SLOT), 0 },
		{ 0x4028, ELF64_R_INFO(99, R_X86_64_JUMP_SLOT), 0 },
	};
	struct symtab *t = symtab_new();
	struct elfmake m;
	struct elfimage e;

	elfmake_begin(&m, ET_DYN, machine);
	elfmake_section(&m, ".plt", SHT_PROGBITS, CODE, 0x1000, code, len);
	elfmake_section(&m, ".rela.plt", SHT_RELA, SHF_ALLOC, 0, relocations, sizeof(relocations));
	elfmake_symbols(&m, SHT_DYNSYM, ".dynsym", ".dynstr", imported, 2);
	CHECK(!elfimage_open(elfmake_end(&m), &e) && symtab_add_elf(t, &e));
	symtab_add_plt(t, &e);
	symtab_seal(t);
	CHECK(!name_at(t, 0x1000));
	CHECK_STR(name_at(t, second - 16), "malloc@plt");
	CHECK_STR(name_at(t, second), "free@plt");
	CHECK_STR(name_at(t, second + 15), "free@plt");
	CHECK(!name_at(t, second + 16));
	symtab_free(t);
	buf_free(&m.bytes);
}

static void check_plts(void)
{
	static const unsigned char x86[] = {
		0xff, 0x35, 0x02, 0x30, 0, 0, 0xff, 0x25, 0x04, 0x30, 0, 0, 0x0f, 0x1f, 0x40, 0,
		0xff, 0x25, 0x02, 0x30, 0, 0, 0x68, 0, 0, 0, 0, 0xe9, 0xe0, 0xff, 0xff, 0xff,
		0xf2, 0xff, 0x25, 0xf9, 0x2f, 0, 0, 0x68, 1, 0, 0, 0, 0xe9, 0xd0, 0xff, 0xff,
		0xff, 0x25, 0xf2, 0x2f, 0, 0, 0x68, 2, 0, 0, 0, 0xe9, 0xc0, 0xff, 0xff, 0xff,
	};
	/* adrp x16, 0x4000; ldr x17, [x16, #0x18]; add x16, x16, #0x18; br x17 ... */
	static const unsigned char arm64[] = {
		0xf0, 0x7b, 0xbf, 0xa9, 0x1f, 0x20, 0x03, 0xd5,
		0x1f, 0x20, 0x03, 0xd5, 0x1f, 0x20, 0x03, 0xd5,
		0x10, 0x00, 0x00, 0xf0, 0x11, 0x0e, 0x40, 0xf9,
		0x10, 0x62, 0x00, 0x91, 0x20, 0x02, 0x1f, 0xd6,
		0x10, 0x00, 0x00, 0xf0, 0x11, 0x12, 0x40, 0xf9,
		0x10, 0x82, 0x00, 0x91, 0x20, 0x02, 0x1f, 0xd6,
	};

	check_plt(EM_X86_64, x86, sizeof(x86), 0x1020);
	check_plt(EM_AARCH64, arm64, sizeof(arm64), 0x1020);
}

int main(void)
{
	check_program();
	check_object();
	check_plts();
	return check_done("symtab");
}
