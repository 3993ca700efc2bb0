#include "common/stack/elfimage.h"

#include <errno.h>

#include "tests/unit/check.h"
#include "tests/unit/cut.h"
#include "tests/unit/elfmake.h"

static struct text make_image(struct elfmake *m)
{
	static const char code[64] = "code";
	const struct elfmake_symbol symbols[] = {
		{ "first", 0x401000, 16, 1, STT_FUNC, STB_GLOBAL },
		{ "second", 0x401010, 16, 1, STT_FUNC, STB_LOCAL },
	};

	elfmake_begin(m, ET_DYN, EM_X86_64);
	elfmake_load(m, elfmake_section(m, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR,
					0x401000, code, sizeof(code)), PF_R | PF_X);
	elfmake_build_id(m, 0x01abcdef);
	elfmake_symbols(m, SHT_SYMTAB, ".symtab", ".strtab", symbols, 2);
	return elfmake_end(m);
}

static void check_whole(struct text image)
{
	struct elfimage e;
	struct elfsection s, names;
	struct elfsegment g;
	struct elfsymbol y;
	char id[ELFIMAGE_BUILD_ID_HEX];
	uint64_t address = 0;

	CHECK(!elfimage_open(image, &e));
	CHECK(e.is_64 && e.type == ET_DYN && e.machine == EM_X86_64);
	CHECK(elfimage_find_section(&e, ".text", &s) && s.address == 0x401000);
	CHECK(s.data.len == 64 && !memcmp(s.data.data, "code", 5));
	CHECK(!elfimage_find_section(&e, ".tex", &s));
	CHECK(!elfimage_section(&e, e.section_count, &s));
	CHECK(elfimage_segment(&e, 0, &g) && g.type == PT_LOAD && !elfimage_segment(&e, 1, &g));
	CHECK(elfimage_address_of(&e, g.offset + 5, &address) && address == 0x401005);
	CHECK(!elfimage_address_of(&e, g.offset + 64, &address));
	CHECK(!elfimage_address_of(&e, g.offset - 1, &address));
	CHECK(elfimage_loaded_at(&e, 0x401010).len == 48);
	CHECK(!elfimage_loaded_at(&e, 0x401040).len);
	CHECK(elfimage_build_id(&e, id));
	CHECK_STR(id, "01abcdef");
	CHECK(elfimage_find_type(&e, SHT_SYMTAB, &s) && elfimage_section(&e, s.link, &names));
	CHECK(elfimage_symbol_count(&e, &s) == 3);
	CHECK(elfimage_symbol(&e, &s, names.data, 2, &y) && text_is(y.name, "second"));
	CHECK(y.value == 0x401010 && y.size == 16 && y.section == 1);
	CHECK(!elfimage_symbol(&e, &s, names.data, 3, &y));
	CHECK(elfimage_symbol_value(&e, "second", &address) && address == 0x401010);
	CHECK(!elfimage_symbol_value(&e, "third", &address) && address == 0x401010);
}

/* Whatever is asked of it, nothing outside it is touched (the sanitizer looks). */
static void ask_all(struct text image)
{
	struct elfimage e;
	struct elfsection s, names;
	struct elfsymbol y;
	char id[ELFIMAGE_BUILD_ID_HEX];
	uint64_t v;

	if (elfimage_open(image, &e))
		return;
	for (uint32_t i = 0; elfimage_section(&e, i, &s); i++)
		for (size_t n = 0; elfimage_section(&e, s.link, &names) && n < 4; n++)
			elfimage_symbol(&e, &s, names.data, n, &y);
	elfimage_build_id(&e, id);
	elfimage_address_of(&e, 0x180, &v);
	elfimage_loaded_at(&e, 0x401000);
	elfimage_symbol_value(&e, "first", &v);
}

static void check_damaged(struct text image)
{
	struct elfimage e;
	char *damaged = memcpy(malloc(image.len), image.data, image.len);

	CHECK(elfimage_open(TEXT("#!/bin/sh, and long enough"), &e) == -ENOEXEC);
	CHECK(elfimage_open(TEXT(""), &e) == -ENOEXEC);
	EACH_CUT(n, image)
		ask_all(cut(image, n));
	for (size_t i = 0; i < image.len; i++) {
		const char was = damaged[i];

		damaged[i] = (char)0xff;
		ask_all((struct text){ damaged, image.len });
		damaged[i] = (char)0x80;
		ask_all((struct text){ damaged, image.len });
		damaged[i] = was;
	}
	damaged[EI_DATA] = ELFDATA2MSB;
	CHECK(elfimage_open((struct text){ damaged, image.len }, &e) == -ENOEXEC);
	free(damaged);
}

static void check_notes(void)
{
	static const char notes[] =
		"\4\0\0\0\1\0\0\0\7\0\0\0Lin\0x\0\0\0"          /* another one first */
		"\4\0\0\0\3\0\0\0\3\0\0\0GNU\0\x12\x34\x56\0";
	char id[ELFIMAGE_BUILD_ID_HEX] = "untouched";

	CHECK(elfimage_notes_build_id((struct text){ notes, sizeof(notes) - 1 }, id));
	CHECK_STR(id, "123456");
	for (size_t n = 0; n < sizeof(notes) - 2; n++)
		CHECK(!elfimage_notes_build_id(cut((struct text){ notes, n }, n), id));
	CHECK(!elfimage_notes_build_id(TEXT("\xff\xff\xff\xff\xff\xff\xff\xff\3\0\0\0GNU\0"), id));
	CHECK_STR(id, "123456");
}

/* How much a file that is mostly zeroes, packed, says that it would be. */
static void check_packed(void)
{
	const Elf64_Chdr first = { .ch_type = ELFCOMPRESS_ZLIB, .ch_size = 5ull << 30 };
	struct elfmake m;
	struct elfimage e;

	elfmake_begin(&m, ET_DYN, EM_X86_64);
	elfmake_section(&m, ".debug_info", SHT_PROGBITS, SHF_COMPRESSED, 0, &first,
			sizeof(first));
	elfmake_section(&m, ".zdebug_line", SHT_PROGBITS, 0, 0, "ZLIB\0\0\0\1\0\0\0\0", 12);
	elfmake_section(&m, ".debug_str", SHT_PROGBITS, SHF_COMPRESSED, 0, "short", 5);
	CHECK(!elfimage_open(elfmake_end(&m), &e));
	CHECK(elfimage_unpacked_size(&e) == (5ull << 30) + (1ull << 32));
	buf_free(&m.bytes);
}

int main(void)
{
	struct elfmake m;
	const struct text image = make_image(&m);

	check_whole(image);
	check_damaged(image);
	check_notes();
	check_packed();
	buf_free(&m.bytes);
	return check_done("elfimage");
}
