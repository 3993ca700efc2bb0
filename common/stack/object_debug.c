/* Where an object's symbols are when it does not carry them itself. */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "common/stack/elfsym_cfi.h"
#include "common/stack/elfsym_inline.h"
#include "common/stack/object.h"
#include "common/stack/unpack.h"

#define CHECKSUM_STEP (1u << 30)
#define DEBUG_UNPACKED_MAX (4ull << 30)        /* bytes of compressed debug information */

static bool has_symtab(const struct elfimage *e)
{
	struct elfsection s;

	return elfimage_find_type(e, SHT_SYMTAB, &s) && s.data.len;
}

static uint32_t checksum(struct text bytes)
{
	uLong sum = crc32(0, NULL, 0);

	while (bytes.len) {
		const size_t n = bytes.len < CHECKSUM_STEP ? bytes.len : CHECKSUM_STEP;

		sum = crc32(sum, (const unsigned char *)bytes.data, (unsigned)n);
		bytes.data += n;
		bytes.len -= n;
	}
	return (uint32_t)sum;
}

/* Of the same build by its id, or else by the checksum that the object keeps of it (NULL: none). */
static bool is_ours(const struct object *o, const struct elfimage *e, const uint32_t *sum)
{
	char own[ELFIMAGE_BUILD_ID_HEX], theirs[ELFIMAGE_BUILD_ID_HEX];

	if (elfimage_build_id(&o->elf, own))
		return elfimage_build_id(e, theirs) && object_build_ids_match(own, theirs);
	return sum && checksum(e->bytes) == *sum;
}

static bool try_debug(struct object *o, const char *root, const char *path, const uint32_t *sum)
{
	struct hostfile f;
	struct elfimage e;

	if (hostfile_map(root, path, &f))
		return false;
	if (elfimage_open(f.bytes, &e) || !is_ours(o, &e, sum)) {
		hostfile_unmap(&f);
		return false;
	}
	o->debug_file = f;
	o->debug = e;
	o->has_debug = true;
	return true;
}

static bool find_by_build_id(struct object *o, const char *symfs)
{
	char id[ELFIMAGE_BUILD_ID_HEX], path[1024];
	const char *home = getenv("HOME");

	if (!elfimage_build_id(&o->elf, id) || strlen(id) < 4)
		return false;
	snprintf(path, sizeof(path), "/usr/lib/debug/.build-id/%.2s/%s.debug", id, id + 2);
	if ((symfs && try_debug(o, symfs, path, NULL)) || try_debug(o, NULL, path, NULL))
		return true;
	if (!home)
		return false;
	snprintf(path, sizeof(path), "%s/.debug/.build-id/%.2s/%s/debug", home, id, id + 2);
	return try_debug(o, NULL, path, NULL);
}

static bool find_by_link(struct object *o, const char *symfs)
{
	static const char *const places[][2] = {
		{ "", "/" }, { "", "/.debug/" }, { "/usr/lib/debug", "/" },
	};
	struct elfsection s;
	uint32_t sum;

	if (!elfimage_find_section(&o->elf, ".gnu_debuglink", &s) || s.data.len < 8)
		return false;
	const size_t n = strnlen(s.data.data, s.data.len);
	const size_t sum_at = (n + 4) & ~(size_t)3;

	/* a name, not a path: nothing outside the folders below is meant */
	if (!n || sum_at + 4 > s.data.len || memchr(s.data.data, '/', n))
		return false;
	memcpy(&sum, s.data.data + sum_at, sizeof(sum));
	const char *slash = strrchr(o->path, '/');

	for (size_t i = 0; slash && i < sizeof(places) / sizeof(*places); i++) {
		char path[4096];
		const int len = snprintf(path, sizeof(path), "%s%.*s%s%s", places[i][0],
					 (int)(slash - o->path), o->path, places[i][1],
					 s.data.data);

		if ((size_t)len < sizeof(path) && try_debug(o, symfs, path, &sum))
			return true;
	}
	return false;
}

static void find_debug(struct object *o, const struct object_places *p)
{
	/* a module's layout is the kernel's, not its debug file's */
	if (o->looked_for_debug || o->elf.type == ET_REL)
		return;
	o->looked_for_debug = true;
	if (!find_by_build_id(o, p->options->symfs))
		find_by_link(o, p->options->symfs);
}

static void add_mini(struct object *o)
{
	struct elfsection s;
	struct elfimage e;

	if (!elfimage_find_section(&o->elf, ".gnu_debugdata", &s) ||
	    unpack(s.data, OBJECT_UNPACKED_MAX, &o->mini) ||
	    elfimage_open(buf_text(&o->mini), &e))
		return;
	symtab_add_elf(o->symbols, &e);
}

static void read_symbols(struct object *o, const struct object_places *p)
{
	o->symbols = symtab_new();
	const bool is_complete = has_symtab(&o->elf);

	if (!is_complete)
		find_debug(o, p);
	symtab_add_elf(o->symbols, &o->elf);
	if (!is_complete && o->has_debug)
		symtab_add_elf(o->symbols, &o->debug);
	else if (!is_complete)
		add_mini(o);
	symtab_add_plt(o->symbols, &o->elf);
	symtab_seal(o->symbols);
}

struct symtab *object_symbols(struct object *o, const struct object_places *p)
{
	size_t count;

	if (o->looked_for_symbols)
		return o->symbols;
	o->looked_for_symbols = true;
	if (o->state != OBJECT_GOOD)
		return NULL;
	read_symbols(o, p);
	symtab_entries(o->symbols, &count);
	if (!count) {
		symtab_free(o->symbols);
		o->symbols = NULL;
	}
	return o->symbols;
}

const struct elfimage *object_with_section(struct object *o, const struct object_places *p,
					   const char *name)
{
	struct elfsection s;

	if (o->state != OBJECT_GOOD)
		return NULL;
	if (elfimage_find_section(&o->elf, name, &s) && s.data.len)
		return &o->elf;
	find_debug(o, p);
	if (o->has_debug && elfimage_find_section(&o->debug, name, &s) && s.data.len)
		return &o->debug;
	return NULL;
}

/* ---- debug information ---- */

/* /usr/lib/debug/.build-id/ab/cdef.debug of what several debug files share (dwz -m). */
static bool find_shared(struct object *o, const char *symfs, struct text id)
{
	char path[1024], hex[ELFIMAGE_BUILD_ID_HEX], *to = hex;
	struct elfimage e;

	if (id.len < 2 || id.len > ELFIMAGE_BUILD_ID_MAX)
		return false;
	for (size_t i = 0; i < id.len; i++, to += 2)
		snprintf(to, 3, "%02x", (unsigned char)id.data[i]);
	snprintf(path, sizeof(path), "/usr/lib/debug/.build-id/%.2s/%s.debug", hex, hex + 2);
	if ((!symfs || hostfile_map(symfs, path, &o->shared_file)) &&
	    hostfile_map(NULL, path, &o->shared_file))
		return false;
	return !elfimage_open(o->shared_file.bytes, &e) &&
	       elfimage_unpacked_size(&e) <= DEBUG_UNPACKED_MAX;
}

/* What elfutils makes of an image of ours: of its copy that may be written. */
static struct elfsym_file *open_file(struct elfsym_file **f, const struct hostfile *h,
				     struct buf *unpacked)
{
	if (!*f)
		*f = unpacked->len ? elfsym_file_new(unpacked->data, unpacked->len) :
				     elfsym_file_new(h->scratch, h->bytes.len);
	return *f;
}

/* NULL: not an image for elfutils, or one that would fill the memory. */
static struct elfsym_file *open_image(struct object *o, const struct elfimage *e)
{
	struct buf none = { 0 };

	if (elfimage_unpacked_size(e) > DEBUG_UNPACKED_MAX)
		return NULL;
	return e == &o->elf ? open_file(&o->own, &o->file, &o->unpacked) :
			      open_file(&o->apart, &o->debug_file, &none);
}

struct elfsym_cfi *object_cfi(struct object *o, const struct object_places *p)
{
	if (o->cfi || o->state != OBJECT_GOOD)
		return o->cfi;
	const struct elfimage *frame = object_with_section(o, p, ".debug_frame");

	o->cfi = elfsym_cfi_new(open_image(o, &o->elf), frame ? open_image(o, frame) : NULL);
	return o->cfi;
}

struct elfsym_inline *object_lines(struct object *o, const struct object_places *p)
{
	struct buf none = { 0 };
	struct elfsection link;

	if (o->looked_for_lines)
		return o->lines;
	o->looked_for_lines = true;
	const struct elfimage *e = object_with_section(o, p, ".debug_info");
	struct elfsym_file *file = e ? open_image(o, e) : NULL;

	if (!file)
		return NULL;
	/* without the shared part elfutils would look for it by itself, wherever the link points */
	if (elfimage_find_section(e, ".gnu_debugaltlink", &link)) {
		const size_t n = strnlen(link.data.data, link.data.len) + 1;

		if (n >= link.data.len ||
		    !find_shared(o, p->options->symfs,
				 (struct text){ link.data.data + n, link.data.len - n }) ||
		    !open_file(&o->shared, &o->shared_file, &none))
			return NULL;
	}
	o->lines = elfsym_inline_new(file, o->shared);
	return o->lines;
}
