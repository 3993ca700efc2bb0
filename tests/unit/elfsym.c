#include "common/stack/elfsym.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "common/base/buf.h"
#include "common/base/fail.h"
#include "tests/unit/check.h"

#define PAGE 4096

/* The smallest ELF file with a build id: header, one program header, one note. */
static const unsigned char tiny[] = {
	0x7f, 'E', 'L', 'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	3, 0, 62, 0, 1, 0, 0, 0,                        /* ET_DYN, x86-64 */
	0, 0, 0, 0, 0, 0, 0, 0, 64, 0, 0, 0, 0, 0, 0, 0, /* entry, program headers at 64 */
	0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,             /* no section headers, no flags */
	64, 0, 56, 0, 1, 0, 64, 0, 0, 0, 0, 0,
	4, 0, 0, 0, 4, 0, 0, 0,                         /* PT_NOTE at 120, 24 bytes */
	120, 0, 0, 0, 0, 0, 0, 0, 120, 0, 0, 0, 0, 0, 0, 0, 120, 0, 0, 0, 0, 0, 0, 0,
	24, 0, 0, 0, 0, 0, 0, 0, 24, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0,
	4, 0, 0, 0, 8, 0, 0, 0, 3, 0, 0, 0, 'G', 'N', 'U', 0, /* NT_GNU_BUILD_ID, 8 bytes */
	0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef,
};

/* Where the length of the note's content stands, and its name. */
#define TINY_ID_SIZE (120 + 4)
#define TINY_NAME (120 + 12)

static void check_build_ids(void)
{
	char hex[ELFSYM_BUILD_ID_HEX] = "untouched";
	unsigned char damaged[sizeof(tiny)];
	struct text image = { (const char *)tiny, sizeof(tiny) };

	CHECK(!elfsym_build_id_of(image, hex));
	CHECK_STR(hex, "0123456789abcdef");

	/* cut anywhere, it fails and leaves the result alone */
	memcpy(hex, "untouched", 10);
	for (image.len = 0; image.len < sizeof(tiny); image.len++) {
		char *exact = memcpy(malloc(image.len + 1), tiny, image.len);

		CHECK(elfsym_build_id_of((struct text){ exact, image.len }, hex) < 0);
		free(exact);
	}
	CHECK_STR(hex, "untouched");

	memcpy(damaged, tiny, sizeof(tiny));
	damaged[TINY_ID_SIZE] = 200;
	image = (struct text){ (const char *)damaged, sizeof(damaged) };
	CHECK(elfsym_build_id_of(image, hex) < 0);
	damaged[TINY_ID_SIZE] = 8;
	damaged[TINY_NAME] = 'X';
	CHECK(elfsym_build_id_of(image, hex) == -ENOENT);
	CHECK_STR(fail_text(), "no build id");
	CHECK(elfsym_build_id_of(TEXT("#!/bin/sh\n"), hex) == -ENOEXEC);
	CHECK(elfsym_build_id_of(TEXT(""), hex) == -ENOEXEC);
	CHECK_STR(hex, "untouched");
}

static void check_self(void)
{
	int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), other;
	char hex[ELFSYM_BUILD_ID_HEX], name[64];
	uint64_t offset = 0;

	CHECK(!elfsym_build_id(self, hex));
	CHECK(strlen(hex) == 40 && strspn(hex, "0123456789abcdef") == 40);

	/* this program is not PIE: its addresses are those of its file */
	CHECK(!elfsym_lookup(self, (uintptr_t)elfsym_lookup + 1, name, sizeof(name), &offset));
	CHECK_STR(name, "elfsym_lookup");
	CHECK(offset == 1);
	CHECK(!elfsym_lookup(self, (uintptr_t)check_self, name, 6, &offset));
	CHECK_STR(name, "check");
	CHECK(offset == 0);
	CHECK(elfsym_lookup(self, 16, name, sizeof(name), &offset) == -ENOENT);
	CHECK_STR(name, "check");

	other = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	CHECK(elfsym_build_id(other, hex) == -ENOEXEC);
	CHECK(elfsym_lookup(other, 0, name, sizeof(name), &offset) == -ENOEXEC);
	close(other);
	CHECK(elfsym_build_id(other, hex) == -EBADF);
	CHECK(elfsym_lookup(other, 0, name, sizeof(name), &offset) == -EBADF);

	/* neither the file's own descriptor is closed nor one of ours left open */
	CHECK(open("/proc/self/exe", O_RDONLY | O_CLOEXEC) == other);
	CHECK(!close(other) && !close(self));
}

/* The vDSO: a shared object in memory, stripped to its dynamic symbols. */
static void check_vdso(void)
{
	const char *vdso = (const char *)getauxval(AT_SYSINFO_EHDR);
	char name[64] = "", hex[ELFSYM_BUILD_ID_HEX];
	uint64_t offset;
	bool found = false;

	if (!vdso) {
		check_skip("elfsym vdso", "the kernel maps none");
		return;
	}
	struct text image = { vdso, PAGE };

	CHECK(!elfsym_build_id_of(image, hex));
	for (uint64_t at = 0; at < PAGE && !found; at += 16)
		found = !elfsym_lookup_of(image, at, name, sizeof(name), &offset) &&
			strstr(name, "clock_gettime");
	CHECK(found);
}

static void check_demangle(void)
{
	static const char *const names[][2] = {
		{ "_ZNSt6vectorIiSaIiEE9push_backEOi",
		  "std::vector<int, std::allocator<int> >::push_back" },
		{ "_Z3fooi", "foo" },
		{ "_ZN3fooEv.isra.0", "foo" },
		{ "_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad" },
		{ "_RNvCs1234_7mycrate3foo", "mycrate::foo" },
		{ "_RNvMs_NtCs1234_7mycrate3barNtB4_3Baz3new", "<mycrate::bar::Baz>::new" },
		{ "_D3std5stdio7writelnFZv", "std.stdio.writeln()" },
		{ "_Dmain", "D main" },
	};
	static const char *const plain[] = {
		"", "_", "main", "_Z", "_R", "_D", "_ZN", "_init", "__libc_start_main", "_D3std",
		"_ZN4core3fmt9Formatter3pad17h0123456789abcdef", "Z3foov",
	};
	char out[128];

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		CHECK(elfsym_demangle(names[i][0], out, sizeof(out)));
		CHECK_STR(out, names[i][1]);
	}
	CHECK(elfsym_demangle("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", out, 5));
	CHECK_STR(out, "core");
	CHECK(!elfsym_demangle("_Z3fooi", out, 0));
	for (size_t i = 0; i < sizeof(plain) / sizeof(*plain); i++)
		if (!CHECK(!elfsym_demangle(plain[i], out, sizeof(out))))
			printf("    %s is %s\n", plain[i], out);
	CHECK_STR(out, "core");
}

/* Types that hold the one before twice: 40 of them would be a terabyte of text. */
static void check_demangle_doubling(void)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	struct buf name = { 0 };
	char out[10000];

	buf_add_text(&name, "_Z1fI1AIiiE");
	for (unsigned i = 1; i <= 40; i++) {
		char reference[] = { 'S', digits[i / 36], digits[i % 36], '_', '\0' };

		if (i < 36)
			memmove(reference + 1, reference + 2, 3);
		buf_printf(&name, "S0_I%s%sE", reference, reference);
	}
	buf_add_text(&name, "Evv");
	CHECK(elfsym_demangle(name.data, out, sizeof(out)));
	CHECK(!strncmp(out, "f<A<int, int>, A<A<int, int>, A<int, int> >, ", 45));
	CHECK(strlen(out) == 8192);

	buf_reset(&name);
	buf_add_text(&name, "_D1fFHiiHQeQg");
	for (unsigned i = 0; i < 40; i++)
		buf_add_text(&name, "HQgQi");
	buf_add_text(&name, "Zv");
	CHECK(!elfsym_demangle(name.data, out, sizeof(out)));
	buf_free(&name);
}

int main(void)
{
	CHECK(!strncmp(elfsym_library_version(), "0.", 2));
	check_build_ids();
	check_self();
	check_vdso();
	check_demangle();
	check_demangle_doubling();
	return check_done("elfsym");
}
