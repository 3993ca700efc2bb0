#include "common/stack/elfsym.h"

#include <ctype.h>
#include <elfutils/libdwelf.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <libelf.h>
#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/fail.h"

#define ELF_HEAD (EI_NIDENT + 2)       /* up to e_type */
#define MANGLED_MAX 8192               /* longer names are left as they are */
#define DEMANGLED_MAX 8192             /* and longer results are cut */
#define D_REFERENCES_MAX 32            /* as they may double the text: 32 make about a megabyte */

/*
 * libdwfl asks a debuginfod server for files it misses, through a library it loads at run time. A
 * static program can't, and a host in trouble shouldn't. These replace its debuginfod-client.c.
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

/*
 * What a process can map: a program or a shared object. libdwfl would also take archives,
 * compressed kernels however large they turn out to be, and objects, which it relocates in the
 * caller's memory.
 */
static int check_head(const unsigned char *head, size_t len)
{
	if (len < ELF_HEAD || memcmp(head, ELFMAG, SELFMAG))
		return fail(ENOEXEC, "not an ELF file");
	bool is_big_endian = head[EI_DATA] == ELFDATA2MSB;
	unsigned type = is_big_endian ? head[EI_NIDENT] << 8 | head[EI_NIDENT + 1]
				      : head[EI_NIDENT] | head[EI_NIDENT + 1] << 8;

	if (type != ET_EXEC && type != ET_DYN)
		return fail(ENOEXEC, "neither a program nor a shared object");
	return 0;
}

/* libelf's and libdw's parameters are older than const; they only read what check_head lets by. */
static char *image_data(struct text image)
{
	return (char *)image.data;
}

/* libdwfl (0.188) crashes on memory that libelf does not open: so that is tried first. */
static int open_image(struct text image, Elf **elf)
{
	int err = check_head((const unsigned char *)image.data, image.len);

	if (err)
		return err;
	elf_version(EV_CURRENT);
	*elf = elf_memory(image_data(image), image.len);
	return *elf ? 0 : fail(ENOEXEC, "damaged ELF file: %s", elf_errmsg(-1));
}

static int check_fd(int fd)
{
	unsigned char head[ELF_HEAD];
	ssize_t n = pread(fd, head, sizeof(head), 0);

	return n < 0 ? fail_errno(errno, "read") : check_head(head, (size_t)n);
}

static int read_build_id(Elf *elf, char hex[ELFSYM_BUILD_ID_HEX])
{
	const void *id;
	const char digits[] = "0123456789abcdef";

	if (!elf)
		return fail(ENOEXEC, "damaged ELF file: %s", elf_errmsg(-1));
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
	int err = check_fd(fd);

	if (err)
		return err;
	elf_version(EV_CURRENT);
	Elf *elf = elf_begin(fd, ELF_C_READ, NULL);

	err = read_build_id(elf, hex);
	elf_end(elf);
	return err;
}

int elfsym_build_id_of(struct text image, char hex[ELFSYM_BUILD_ID_HEX])
{
	Elf *elf;
	int err = open_image(image, &elf);

	if (err)
		return err;
	err = read_build_id(elf, hex);
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

static int read_symbol(Dwfl *dwfl, Dwfl_Module *module, uint64_t address, char *name, size_t size,
		       uint64_t *offset)
{
	GElf_Addr bias = 0;
	GElf_Off into;
	GElf_Sym symbol;

	if (!dwfl)
		return fail(ENOMEM, "libdwfl: no memory");
	dwfl_report_end(dwfl, NULL, NULL);
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
	int err = check_fd(fd);

	if (err)
		return err;
	int own = fcntl(fd, F_DUPFD_CLOEXEC, 3);

	if (own < 0)
		return fail_errno(errno, "dup");
	Dwfl *dwfl = dwfl_begin(&offline_callbacks);
	Dwfl_Module *module = dwfl ? dwfl_report_offline(dwfl, "", "", own) : NULL;

	if (!module)
		close(own);    /* else libdwfl closes it */
	err = read_symbol(dwfl, module, address, name, size, offset);
	dwfl_end(dwfl);
	return err;
}

int elfsym_lookup_of(struct text image, uint64_t address, char *name, size_t size,
		     uint64_t *offset)
{
	Elf *elf;
	int err = open_image(image, &elf);

	if (err)
		return err;
	elf_end(elf);
	Dwfl *dwfl = dwfl_begin(&offline_callbacks);
	Dwfl_Module *module = NULL;

	if (dwfl)
		module = dwfl_report_offline_memory(dwfl, "", "", image_data(image), image.len);
	err = read_symbol(dwfl, module, address, name, size, offset);
	dwfl_end(dwfl);
	return err;
}

/*
 * What fits of a demangled name. A mangled name may refer back to its own parts, so a few hundred
 * bytes of it stand for more text than there are atoms: the demangler is left where the room ends.
 */
struct cut_text {
	char data[DEMANGLED_MAX];
	size_t len;
	jmp_buf full;
};

/* Did all of it fit? */
static bool add_fitting(struct cut_text *t, const char *piece, size_t len)
{
	size_t room = sizeof(t->data) - t->len;
	size_t fits = len < room ? len : room;

	if (fits)              /* else piece may be NULL */
		memcpy(t->data + t->len, piece, fits);
	t->len += fits;
	return len <= room;
}

/* The C++ demangler keeps its state on the stack: it can be left anywhere. */
static void add_cut(const char *piece, size_t len, void *opaque)
{
	struct cut_text *t = opaque;

	if (!add_fitting(t, piece, len))
		longjmp(t->full, 1);
}

/*
 * The one for Rust holds memory while it writes an identifier in punycode, of letters, digits, _
 * and what is not ASCII. What repeats writes more than identifiers.
 */
static void add_cut_rust(const char *piece, size_t len, void *opaque)
{
	struct cut_text *t = opaque;

	if (!add_fitting(t, piece, len) && ispunct((unsigned char)*piece) && *piece != '_')
		longjmp(t->full, 1);
}

/* Older Rust names are C++ names with a hash at the end, so Rust is asked first. */
static bool demangle_cxx_or_rust(const char *mangled, struct cut_text *t)
{
	if (setjmp(t->full))
		return true;
	t->len = 0;
	if (rust_demangle_callback(mangled, DMGL_NO_OPTS, add_cut_rust, t))
		return true;
	t->len = 0;            /* it may have got some way */
	return cplus_demangle_v3_callback(mangled, DMGL_NO_OPTS, add_cut, t);
}

/* D's demangler has no way out, so names with too many references (Q) back are not given to it. */
static bool demangle_d(const char *mangled, struct cut_text *t)
{
	unsigned references = 0;

	for (const char *c = mangled; *c; c++)
		references += *c == 'Q';
	char *text = references > D_REFERENCES_MAX ? NULL : dlang_demangle(mangled, DMGL_NO_OPTS);

	if (!text)
		return false;
	t->len = strnlen(text, sizeof(t->data));
	memcpy(t->data, text, t->len);
	free(text);
	return true;
}

static bool demangle_any(const char *mangled, struct cut_text *t)
{
	if (mangled[0] != '_')
		return false;
	if (mangled[1] == 'D')
		return demangle_d(mangled, t);
	return (mangled[1] == 'Z' || mangled[1] == 'R') && demangle_cxx_or_rust(mangled, t);
}

bool elfsym_demangle(const char *mangled, char *out, size_t size)
{
	struct cut_text t;

	if (!size || strnlen(mangled, MANGLED_MAX) == MANGLED_MAX || !demangle_any(mangled, &t) ||
	    !t.len)
		return false;
	if (t.len >= size)
		t.len = size - 1;
	memcpy(out, t.data, t.len);
	out[t.len] = '\0';
	return true;
}
