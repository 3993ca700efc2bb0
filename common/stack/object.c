#include "common/stack/object.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/scan.h"
#include "common/stack/elfsym_cfi.h"
#include "common/stack/elfsym_inline.h"
#include "common/stack/unpack.h"

#define BUILDIDS_BYTES_MAX (16u << 20)
#define VDSO_BYTES_MAX (64u << 10)

bool object_build_ids_match(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return a[strspn(a, "0")] == '\0' && b[strspn(b, "0")] == '\0';
}

/* ---- the list of files kept elsewhere ---- */

static void add_listed(struct object_places *p, const char *build_id, const char *path)
{
	void **slot = hash_name(&p->by_build_id, build_id);

	if (!*slot)
		*slot = (void *)path;
}

static void add_unlabelled(struct object_places *p, struct text line)
{
	const char *path = arena_text(&p->arena, line);
	char id[ELFIMAGE_BUILD_ID_HEX];
	struct hostfile f;
	struct elfimage e;

	if (hostfile_map(NULL, path, &f))
		return;
	if (!elfimage_open(f.bytes, &e) && elfimage_build_id(&e, id))
		add_listed(p, arena_strdup(&p->arena, id), path);
	hostfile_unmap(&f);
}

static bool is_build_id(struct text t)
{
	uint64_t v;

	if (t.len < 16 || t.len & 1)
		return false;
	for (size_t i = 0; i < t.len; i++) {
		struct scan digit = scan_of((struct text){ t.data + i, 1 });

		if (!scan_hex(&digit, &v))
			return false;
	}
	return true;
}

void object_places_read(struct object_places *p, const char *buildids)
{
	struct buf list = { 0 };
	struct text line, id;

	if (hostfile_read(NULL, buildids, BUILDIDS_BYTES_MAX, &list)) {
		buf_free(&list);
		return;
	}
	struct scan all = scan_of(buf_text(&list));

	while (scan_line(&all, &line)) {
		struct scan s = scan_of(line);

		scan_blanks(&s);
		line = scan_rest(&s);
		if (!scan_word(&s, &id) || id.data[0] == '#')
			continue;
		scan_blanks(&s);
		if (is_build_id(id) && s.at != s.end)
			add_listed(p, arena_text(&p->arena, id),
				   arena_text(&p->arena, scan_rest(&s)));
		else
			add_unlabelled(p, line);
	}
	buf_free(&list);
}

void object_places_free(struct object_places *p)
{
	hash_free(&p->by_build_id);
	arena_free(&p->arena);
}

static const char *listed(const struct object_places *p, const char *build_id)
{
	return build_id ? hash_find_name(&p->by_build_id, build_id) : NULL;
}

/* ---- the file ---- */

static void note_code(struct object *o)
{
	struct elfsegment s;

	for (uint32_t i = 0; elfimage_segment(&o->elf, i, &s); i++)
		if (s.type == PT_LOAD && (s.flags & PF_X) && o->code_count < OBJECT_CODE_MAX)
			o->code[o->code_count++] = (struct object_code){
				s.offset, s.file_size, s.address,
			};
}

bool object_address_of(const struct object *o, uint64_t offset, uint64_t *address)
{
	if (o->state != OBJECT_GOOD)
		return false;
	for (unsigned i = 0; i < o->code_count; i++) {
		if (offset - o->code[i].offset >= o->code[i].size)
			continue;
		*address = offset - o->code[i].offset + o->code[i].address;
		return true;
	}
	return elfimage_address_of(&o->elf, offset, address);
}

/* Whether it is the very file, as far as the recording tells. */
static bool is_recorded(const struct object *o, const struct elfimage *e, const struct hostfile *f)
{
	char id[ELFIMAGE_BUILD_ID_HEX];

	if (o->build_id)
		return elfimage_build_id(e, id) && object_build_ids_match(id, o->build_id);
	return !o->inode || !f->inode || f->inode == o->inode;
}

/* Takes the file over (no file: what is unpacked already), or gives it back. */
static bool accept(struct object *o, struct hostfile *f)
{
	struct text bytes = f->bytes;
	struct elfimage e;

	if (!bytes.len || !unpack(bytes, OBJECT_UNPACKED_MAX, &o->unpacked))
		bytes = buf_text(&o->unpacked);
	if (!elfimage_open(bytes, &e))
		o->state = is_recorded(o, &e, f) ? OBJECT_GOOD : OBJECT_OTHER_BUILD;
	if (o->state != OBJECT_GOOD) {
		buf_free(&o->unpacked);
		hostfile_unmap(f);
		return false;
	}
	o->elf = e;
	o->file = *f;
	note_code(o);
	return true;
}

static bool try_file(struct object *o, const char *root, const char *path)
{
	struct hostfile f;

	return !hostfile_map(root, path, &f) && accept(o, &f);
}

static bool try_below(struct object *o, const char *folder, const char *path)
{
	char joined[4096];

	if ((size_t)snprintf(joined, sizeof(joined), "%s/%s", folder, path) >= sizeof(joined))
		return false;
	return try_file(o, NULL, joined);
}

/* Without a build id the link must say that it is this file: the pid may be another's now. */
static bool try_live_map(struct object *o, const struct symbols_map *map)
{
	char link[80], target[4096];

	snprintf(link, sizeof(link), "/proc/%u/map_files/%llx-%llx", map->pid,
		 (unsigned long long)map->start, (unsigned long long)map->end);
	const ssize_t n = readlink(link, target, sizeof(target) - 1);

	if (n <= 0)
		return false;
	target[n] = '\0';
	if (!o->build_id && strncmp(target, o->path, strlen(o->path)))
		return false;
	return try_file(o, NULL, link);
}

bool object_process_is_elsewhere(uint32_t pid)
{
	char path[40];
	struct stat theirs, ours;

	snprintf(path, sizeof(path), "/proc/%u/ns/mnt", pid);
	return !stat(path, &theirs) && !stat("/proc/self/ns/mnt", &ours) &&
	       theirs.st_ino != ours.st_ino;
}

static bool try_live(struct object *o, const struct symbols_map *map)
{
	char root[40];

	if (!map->pid || map->pid > INT32_MAX)
		return false;
	if (!map->is_kernel && try_live_map(o, map))
		return true;
	snprintf(root, sizeof(root), "/proc/%u/root", map->pid);
	return object_process_is_elsewhere(map->pid) && try_file(o, root, o->path);
}

/* perf's own cache: ~/.debug/.build-id/ab/cdef.../elf */
static bool try_perf_cache(struct object *o, const char *what)
{
	const char *home = getenv("HOME");
	char path[1024];

	if (!home || !o->build_id || strlen(o->build_id) < 4)
		return false;
	snprintf(path, sizeof(path), "%s/.debug/.build-id/%.2s/%s/%s", home, o->build_id,
		 o->build_id + 2, what);
	return try_file(o, NULL, path);
}

/* The image the kernel maps into each process: ours is theirs, if it is of the same kernel. */
static bool try_own_vdso(struct object *o)
{
	const char *vdso = (const char *)(uintptr_t)getauxval(AT_SYSINFO_EHDR);
	struct hostfile image = { .bytes = { NULL, 0 } };
	Elf64_Ehdr h;

	if (!vdso)
		return false;
	memcpy(&h, vdso, sizeof(h));
	/* nobody says how long it is: its section headers stand at its end */
	const uint64_t size = h.e_shoff + (uint64_t)h.e_shnum * h.e_shentsize;

	if (size < sizeof(h) || size > VDSO_BYTES_MAX)
		return false;
	buf_add(&o->unpacked, vdso, (size_t)size);
	return accept(o, &image);
}

static bool find_vdso(struct object *o, const struct object_places *p)
{
	return ((p->options->is_this_boot || o->build_id) && try_own_vdso(o)) ||
	       try_perf_cache(o, "vdso");
}

static bool find_file(struct object *o, const struct object_places *p,
		      const struct symbols_map *map)
{
	const char *symfs = p->options->symfs;
	const char *elsewhere = listed(p, o->build_id);

	if (elsewhere && try_file(o, NULL, elsewhere))
		return true;
	if (!strcmp(o->path, "[vdso]"))
		return find_vdso(o, p);
	if (symfs && (try_file(o, symfs, o->path) || try_below(o, symfs, o->path)))
		return true;
	/* what is not below symfs may be here too, if a build id can tell that it is the same */
	if (symfs && !o->build_id)
		return false;
	if (p->options->is_this_boot && try_live(o, map))
		return true;
	return (o->path[0] == '/' && try_file(o, NULL, o->path)) || try_perf_cache(o, "elf");
}

static char *without_deleted(const char *path)
{
	static const char mark[] = " (deleted)";
	char *copy = mem_strdup(path);
	const size_t n = strlen(copy), m = sizeof(mark) - 1;

	if (n > m && !strcmp(copy + n - m, mark))
		copy[n - m] = '\0';
	return copy;
}

struct object *object_new(const struct object_places *p, const struct symbols_map *map)
{
	struct object *o = mem_alloc(sizeof(*o));

	o->path = without_deleted(map->path);
	o->build_id = map->build_id && *map->build_id ? mem_strdup(map->build_id) : NULL;
	o->inode = p->options->is_this_boot && !p->options->symfs ? map->inode : 0;
	o->state = OBJECT_MISSING;
	if (find_file(o, p, map))
		o->state = OBJECT_GOOD;
	return o;
}

void object_free(struct object *o)
{
	if (!o)
		return;
	elfsym_cfi_free(o->cfi);
	elfsym_inline_free(o->lines);
	elfsym_file_free(o->own);
	elfsym_file_free(o->apart);
	elfsym_file_free(o->shared);
	symtab_free(o->symbols);
	hostfile_unmap(&o->file);
	hostfile_unmap(&o->debug_file);
	hostfile_unmap(&o->shared_file);
	buf_free(&o->unpacked);
	buf_free(&o->mini);
	hash_free(&o->readable);
	hash_free(&o->inlined);
	free((char *)o->path);
	free((char *)o->build_id);
	free(o);
}
