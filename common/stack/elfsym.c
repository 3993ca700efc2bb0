#include "common/stack/elfsym.h"

#include <elfutils/libdwelf.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <libelf.h>
#include <libiberty/demangle.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/fail.h"

/* Longer names than this are left as they are: demangling a hostile one may take exponential time. */
#define DEMANGLE_MAX 8192

/*
 * libdwfl asks a debuginfod server for files it misses, through a library it loads at run time. A
 * static program can't, and a host in trouble shouldn't. These stand in for its debuginfod-client.c.
 */
struct debuginfod_client;
struct debuginfod_client *dwfl_get_debuginfod_client(Dwfl *dwfl);
int __libdwfl_debuginfod_find_executable(Dwfl *dwfl, const unsigned char *id, size_t len);
int __libdwfl_debuginfod_find_debuginfo(Dwfl *dwfl, const unsigned char *id, size_t len);
void __libdwfl_debuginfod_end(struct debuginfod_client *client);

struct debuginfod_client *dwfl_get_debuginfod_client(Dwfl *dwfl)
{
	(void)dwfl;
	return NULL;
}

int __libdwfl_debuginfod_find_executable(Dwfl *dwfl, const unsigned char *id, size_t len)
{
	(void)dwfl, (void)id, (void)len;
	return -1;
}

int __libdwfl_debuginfod_find_debuginfo(Dwfl *dwfl, const unsigned char *id, size_t len)
{
	(void)dwfl, (void)id, (void)len;
	return -1;
}

void __libdwfl_debuginfod_end(struct debuginfod_client *client)
{
	(void)client;
}

const char *elfsym_library_version(void)
{
	return dwfl_version(NULL);
}

static int read_build_id(Elf *elf, char hex[ELFSYM_BUILD_ID_HEX])
{
	const void *id;
	const char digits[] = "0123456789abcdef";

	if (!elf || elf_kind(elf) != ELF_K_ELF)
		return fail(ENOEXEC, "not an ELF file");
	ssize_t len = dwelf_elf_gnu_build_id(elf, &id);

	if (len < 0)
		return fail(ENOEXEC, "damaged ELF file: %s", elf_errmsg(-1));
	if (!len)
		return fail(ENOENT, "no build id");
	if (len > ELFSYM_BUILD_ID_MAX)
		return fail(ENOTSUP, "build id of %zd bytes, at most %d are known", len,
			    ELFSYM_BUILD_ID_MAX);
	for (ssize_t i = 0; i < len; i++) {
		unsigned char byte = ((const unsigned char *)id)[i];

		*hex++ = digits[byte >> 4];
		*hex++ = digits[byte & 15];
	}
	*hex = '\0';
	return 0;
}

int elfsym_build_id(int fd, char hex[ELFSYM_BUILD_ID_HEX])
{
	elf_version(EV_CURRENT);
	Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
	int err = read_build_id(elf, hex);

	elf_end(elf);
	return err;
}

int elfsym_build_id_of(struct text image, char hex[ELFSYM_BUILD_ID_HEX])
{
	elf_version(EV_CURRENT);
	/* libelf only reads what it is given here, its parameter is older than const */
	Elf *elf = elf_memory((char *)image.data, image.len);
	int err = read_build_id(elf, hex);

	elf_end(elf);
	return err;
}

/* libdwfl's hook for separate debug files: which of those to open is the caller's decision. */
static int no_debug_file(Dwfl_Module *module, void **user, const char *name, Dwarf_Addr base,
			 const char *file, const char *link, GElf_Word crc, char **found)
{
	(void)module, (void)user, (void)name, (void)base;
	(void)file, (void)link, (void)crc, (void)found;
	return -1;
}

static const Dwfl_Callbacks offline_callbacks = {
	.find_debuginfo = no_debug_file,
	.section_address = dwfl_offline_section_address,
};

static int read_symbol(Dwfl_Module *module, uint64_t address, char *name, size_t size,
		       uint64_t *offset)
{
	GElf_Addr bias = 0;
	GElf_Off into;
	GElf_Sym symbol;

	if (!module || !dwfl_module_getelf(module, &bias))
		return fail(ENOEXEC, "not a readable ELF file: %s", dwfl_errmsg(-1));
	const char *found = dwfl_module_addrinfo(module, address + bias, &into, &symbol, NULL, NULL,
						 NULL);

	if (!found || !*found)
		return fail(ENOENT, "no symbol covers address %#llx", (unsigned long long)address);
	snprintf(name, size, "%s", found);
	*offset = into;
	return 0;
}

int elfsym_lookup(int fd, uint64_t address, char *name, size_t size, uint64_t *offset)
{
	Dwfl *dwfl = dwfl_begin(&offline_callbacks);
	int own = dup(fd);     /* libdwfl closes the one it took */

	if (!dwfl || own < 0) {
		int err = own < 0 ? fail_errno(errno, "dup") : fail(ENOMEM, "libdwfl: no memory");

		if (own >= 0)
			close(own);
		dwfl_end(dwfl);
		return err;
	}
	Dwfl_Module *module = dwfl_report_offline(dwfl, "", "", own);

	if (!module)
		close(own);
	dwfl_report_end(dwfl, NULL, NULL);
	int err = read_symbol(module, address, name, size, offset);

	dwfl_end(dwfl);
	return err;
}

int elfsym_lookup_of(struct text image, uint64_t address, char *name, size_t size,
		     uint64_t *offset)
{
	Dwfl *dwfl = dwfl_begin(&offline_callbacks);

	if (!dwfl)
		return fail(ENOMEM, "libdwfl: no memory");
	Dwfl_Module *module = dwfl_report_offline_memory(dwfl, "", "", (char *)image.data, image.len);

	dwfl_report_end(dwfl, NULL, NULL);
	int err = read_symbol(module, address, name, size, offset);

	dwfl_end(dwfl);
	return err;
}

struct cut_text {
	char *at;
	size_t room;           /* without the NUL */
};

static void add_cut(const char *piece, size_t len, void *opaque)
{
	struct cut_text *t = opaque;

	if (len > t->room)
		len = t->room;
	memcpy(t->at, piece, len);
	t->at += len;
	t->room -= len;
	*t->at = '\0';
}
