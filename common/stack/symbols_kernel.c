/* The kernel's own names: only those of the very kernel that was recorded. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "common/base/scan.h"
#include "common/kernel/ksymname.h"
#include "common/stack/kallsyms.h"
#include "common/stack/symbols_impl.h"

#define NOTES_BYTES_MAX 65536
#define MODULES_DEP_BYTES_MAX (16u << 20)
#define KSYMBOLS_MAX (1u << 17)        /* more records of that kind are not kept */
#define ASKED_MAX 16384                /* by then the whole list costs less: 40 ms */

#define KERNEL_OBJECT "[kernel.kallsyms]"

/* ---- which kernel ---- */

static bool running_build_id(char hex[ELFIMAGE_BUILD_ID_HEX])
{
	struct buf notes = { 0 };
	const bool found = !hostfile_read(NULL, "/sys/kernel/notes", NOTES_BYTES_MAX, &notes) &&
			   elfimage_notes_build_id(buf_text(&notes), hex);

	buf_free(&notes);
	return found;
}

/* Whether the recorded kernel is the one that runs. By its build id, else by its release. */
static bool is_running(const struct symbols_kernel *k)
{
	char id[ELFIMAGE_BUILD_ID_HEX];
	struct utsname u;

	if (k->build_id && running_build_id(id))
		return object_build_ids_match(id, k->build_id);
	return k->osrelease && !uname(&u) && !strcmp(u.release, k->osrelease);
}

static int64_t booted_at(void)
{
	struct timespec now, up;

	clock_gettime(CLOCK_REALTIME, &now);
	clock_gettime(CLOCK_BOOTTIME, &up);
	return now.tv_sec - up.tv_sec;
}

void symbols_set_kernel(struct symbols *s, const struct symbols_kernel *k)
{
	struct symbols_kernel *is = &s->kernel.is;
	struct utsname u;

	*is = *k;
	is->build_id = k->build_id && *k->build_id ? arena_strdup(&s->arena, k->build_id) : NULL;
	is->osrelease = k->osrelease && *k->osrelease ?
			arena_strdup(&s->arena, k->osrelease) : NULL;
	is->reference = arena_strdup(&s->arena, k->reference);
	is->hostname = arena_strdup(&s->arena, k->hostname);
	is->kallsyms = NULL;
	if (k->kallsyms && !s->options.kallsyms && !access(k->kallsyms, R_OK))
		s->options.kallsyms = arena_strdup(&s->arena, k->kallsyms);
	if (!s->options.is_this_boot)
		s->options.is_this_boot = is_running(is) && is->recorded_at >= booted_at() &&
					  is->hostname && !uname(&u) &&
					  !strcmp(u.nodename, is->hostname);
}

/* ---- its list ---- */

static struct kallsyms *read_list(const char *path)
{
	struct buf text = { 0 };

	if (hostfile_read(NULL, path, KALLSYMS_BYTES_MAX, &text)) {
		buf_free(&text);
		return NULL;
	}
	return kallsyms_new(&text);
}

static const char *why_other_kernel(struct symbols *s)
{
	const struct symbols_kernel *is = &s->kernel.is;
	struct utsname u;

	if (!is->build_id && !is->osrelease)
		return "no kernel names: the recording does not say which kernel it is of; "
		       "--kallsyms or --vmlinux names it";
	return arena_printf(&s->arena, "no kernel names: recorded on %s, which is not the kernel "
			    "that runs here (%s); --kallsyms or --vmlinux names it",
			    is->osrelease ? is->osrelease : "another build",
			    uname(&u) ? "unknown" : u.release);
}

/* The list that may be used, or NULL with the reason. */
static struct kallsyms *open_list(struct symbols *s)
{
	struct kernel *k = &s->kernel;
	const char *path = s->options.kallsyms ? s->options.kallsyms : "/proc/kallsyms";
	const bool is_same = s->options.is_this_boot || is_running(&k->is);

	if (!s->options.kallsyms && !is_same) {
		k->why_not = why_other_kernel(s);
		return NULL;
	}
	struct kallsyms *list = read_list(path);

	if (!list)
		k->why_not = arena_printf(&s->arena, "no kernel names: %s", fail_text());
	else if (kallsyms_state(list) == KALLSYMS_EMPTY)
		k->why_not = arena_printf(&s->arena, "no kernel names: %s is no list of symbols",
					  path);
	else if (kallsyms_state(list) == KALLSYMS_HIDDEN)
		k->why_not = arena_printf(&s->arena, "no kernel names: all addresses in %s are 0 "
					  "(kernel.kptr_restrict, or no CAP_SYSLOG)", path);
	else
		return list;
	kallsyms_free(list);
	return NULL;
}

/* "_text" out of "[kernel.kallsyms]_text" */
static const char *reference_name(const struct symbols_kernel *is)
{
	const char *name = is->reference ? strchr(is->reference, ']') : NULL;

	return name ? name + 1 : is->reference;
}

/* How far the recorded kernel stands from the list's. */
static void find_shift(struct symbols *s)
{
	struct kernel *k = &s->kernel;
	const char *reference = reference_name(&k->is);
	uint64_t listed;

	if (reference && k->is.reference_address && kallsyms_mark(k->list, reference, &listed)) {
		k->shift = k->is.reference_address - listed;
		k->has_shift = true;
	} else if (s->options.is_this_boot || s->options.kallsyms) {
		k->has_shift = true;
	} else {
		k->why_not = "no kernel names: the recording does not say where its kernel stood; "
			     "--kallsyms names it";
	}
	k->has_modules = k->has_shift && !k->shift &&
			 (s->options.is_this_boot || s->options.kallsyms);
}

/* ---- vmlinux ---- */

static bool vmlinux_shift(struct kernel *k)
{
	const char *reference = reference_name(&k->is);
	uint64_t own;

	if (!reference || !k->is.reference_address) {
		k->shift = 0;          /* not moved, as far as anybody knows */
		return true;
	}
	if (!elfimage_symbol_value(&k->vmlinux->elf, reference, &own))
		return false;
	k->shift = k->is.reference_address - own;
	return true;
}

static bool open_vmlinux(struct symbols *s)
{
	struct kernel *k = &s->kernel;
	const struct symbols_map map = {
		.path = s->options.vmlinux, .build_id = k->is.build_id, .is_kernel = true,
	};
	const struct symbols_options plain = { 0 };
	const struct object_places places = { .options = &plain };

	if (!s->options.vmlinux)
		return false;
	k->vmlinux = object_new(&places, &map);
	if (object_symbols(k->vmlinux, &places) && vmlinux_shift(k))
		return true;
	k->why_not = arena_printf(&s->arena, "%s not used: %s", s->options.vmlinux,
				  k->vmlinux->state == OBJECT_OTHER_BUILD ?
				  "it is not the recorded kernel" : "no symbols in it");
	object_free(k->vmlinux);
	k->vmlinux = NULL;
	return false;
}

static void open_kernel(struct symbols *s)
{
	struct kernel *k = &s->kernel;

	if (k->was_opened)
		return;
	k->was_opened = true;
	if (open_vmlinux(s))
		return;
	const char *refused = k->why_not;

	if (s->options.asks_kernel && !s->options.kallsyms && ksymname_open(&k->asked) >= 0)
		return;
	k->list = open_list(s);
	if (k->list)
		find_shift(s);
	if (refused && (k->list || s->options.vmlinux))
		k->why_not = refused;
}

/* ---- records of what came and went ---- */

void symbols_add_ksymbol(struct symbols *s, uint64_t address, uint64_t size, struct text name)
{
	struct kernel *k = &s->kernel;

	if (k->ksymbol_count == KSYMBOLS_MAX || !size || !name.len || size > UINT64_MAX - address)
		return;
	k->ksymbols = mem_grow(k->ksymbols, &k->ksymbol_cap, k->ksymbol_count + 1,
			       sizeof(*k->ksymbols));
	k->ksymbols[k->ksymbol_count] = (struct ksymbol){
		address, address + size, { arena_text(&s->arena, name), name.len },
	};
	if (!k->ksymbol_count || address < k->ksymbol_low)
		k->ksymbol_low = address;
	if (address + size > k->ksymbol_high)
		k->ksymbol_high = address + size;
	k->ksymbol_count++;
}

static bool find_ksymbol(const struct kernel *k, uint64_t at, struct symbol *found)
{
	if (at < k->ksymbol_low || at >= k->ksymbol_high)
		return false;
	for (size_t i = k->ksymbol_count; i-- > 0;) {
		const struct ksymbol *y = &k->ksymbols[i];

		if (at < y->start || at >= y->end)
			continue;
		found->name = y->name;
		found->object = text_starts(y->name, "bpf_") ? TEXT("[bpf]") : TEXT(KERNEL_OBJECT);
		found->offset = at - y->start;
		return true;
	}
	return false;
}

/* ---- look-ups ---- */

static bool find_in_vmlinux(struct symbols *s, uint64_t at, struct symbol *found)
{
	struct object *v = s->kernel.vmlinux;
	const struct symtab_entry *e;

	if (!v || !(e = symtab_find(v->symbols, at - s->kernel.shift)))
		return false;
	found->name = symbols_readable(s, v, e);
	found->offset = at - s->kernel.shift - e->start;
	return true;
}

/* Of the kernel that runs, while it is few addresses. */
static bool find_by_asking(struct symbols *s, uint64_t at, struct symbol *found)
{
	struct kernel *k = &s->kernel;
	struct ksymname_answer a;

	if (!k->asked)
		return false;
	if (k->asked_count++ == ASKED_MAX) {
		ksymname_close(k->asked);
		k->asked = NULL;
		s->options.asks_kernel = k->was_opened = false;
		open_kernel(s);
		return false;
	}
	if (!ksymname_find(k->asked, at, &a))
		return false;
	found->name = (struct text){ arena_text(&s->arena, a.name), a.name.len };
	found->offset = a.offset;
	if (a.module.len)
		found->object = (struct text){ arena_text(&s->arena, a.module), a.module.len };
	else if (text_starts(a.name, "bpf_prog_"))
		found->object = TEXT("[bpf]");
	return true;
}

static bool same_module_name(struct text a, struct text b)
{
	if (a.len != b.len)
		return false;
	for (size_t i = 0; i < a.len; i++)
		if (a.data[i] != b.data[i] && !(a.data[i] == '-' && b.data[i] == '_') &&
		    !(a.data[i] == '_' && b.data[i] == '-'))
			return false;
	return true;
}

/* xfs out of "[xfs]", "/lib/modules/.../xfs.ko.xz" */
static struct text module_name(const char *path)
{
	struct text t = text_of(path);
	const char *slash = strrchr(path, '/');

	if (slash)
		t = text_of(slash + 1);
	const char *dot = memmem(t.data, t.len, ".ko", 3);

	if (dot)
		t.len = (size_t)(dot - t.data);
	if (t.len > 2 && t.data[0] == '[' && t.data[t.len - 1] == ']')
		t = (struct text){ t.data + 1, t.len - 2 };
	return t;
}

static bool is_kernel_itself(const char *path)
{
	return !strncmp(path, "[kernel", 7) || !strncmp(path, "[guest.kernel", 13);
}

static bool is_module(const struct symbols_map *map)
{
	return map && *map->path && !is_kernel_itself(map->path);
}

/* In the list: the kernel's own names wherever it stood, a module's only if it stood there. */
static bool find_in_list(const struct kernel *k, const struct symbols_map *map, uint64_t at,
			 struct symbol *found)
{
	struct kallsyms_symbol y;

	if (!k->list || !k->has_shift || !kallsyms_find(k->list, at - k->shift, &y))
		return false;
	if (y.module.len) {
		const struct text name = { y.module.data + 1, y.module.len - 2 };

		if (k->shift)
			return false;
		if (is_module(map) ? !same_module_name(name, module_name(map->path)) :
				     !k->has_modules)
			return false;
		found->object = y.module;
	} else if (is_module(map)) {
		return false;
	}
	found->name = text_of(y.name);
	found->offset = at - k->shift - y.start;
	return true;
}

/* The file of a module that the recording calls "[xfs]": modules.dep knows where it is. */
static char *module_path(struct symbols *s, struct text name)
{
	const char *release = s->kernel.is.osrelease;
	struct buf list = { 0 };
	struct text line, file;
	char dep[512], *path = NULL;

	if (!release || strchr(release, '/'))
		return NULL;
	snprintf(dep, sizeof(dep), "/lib/modules/%s/modules.dep", release);
	if (hostfile_read(s->options.symfs, dep, MODULES_DEP_BYTES_MAX, &list)) {
		buf_free(&list);
		return NULL;
	}
	struct scan all = scan_of(buf_text(&list));

	while (!path && scan_line(&all, &line)) {
		struct scan one = scan_of(line);

		if (!scan_until(&one, ':', &file))
			continue;
		const char *slash = memrchr(file.data, '/', file.len);
		struct text base = file;

		if (slash)
			base = (struct text){ slash + 1,
					      (size_t)(file.data + file.len - slash - 1) };
		const char *dot = memmem(base.data, base.len, ".ko", 3);

		if (dot && same_module_name((struct text){ base.data, (size_t)(dot - base.data) },
					    name))
			path = arena_printf(&s->arena, "/lib/modules/%s/%.*s", release,
					    (int)file.len, file.data);
	}
	buf_free(&list);
	return path;
}

/* Without a build id only a path that holds the recorded release is the recorded kernel's. */
static struct object *module_object(struct symbols *s, const struct symbols_map *map)
{
	struct symbols_map at = *map;
	char key[PATH_MAX + ELFIMAGE_BUILD_ID_HEX];

	snprintf(key, sizeof(key), "%s\n%s", map->path, map->build_id ? map->build_id : "");
	struct object *o = hash_find_name(&s->kernel.modules, key);

	if (o)
		return o;
	if (map->path[0] == '[') {
		const char *path = module_path(s, module_name(map->path));

		at.path = path ? path : map->path;
	}
	at.pid = 0;
	at.slot = NULL;
	o = symbols_object(s, &at);
	if (!at.build_id &&
	    (!s->kernel.is.osrelease || !strstr(at.path, s->kernel.is.osrelease)))
		o->looked_for_symbols = true;
	*hash_name(&s->kernel.modules, arena_strdup(&s->arena, key)) = o;
	return o;
}

static bool find_in_module(struct symbols *s, const struct symbols_map *map, uint64_t at,
			   struct symbol *found)
{
	struct object *o = module_object(s, map);
	struct symtab *table = object_symbols(o, &s->places);
	const uint64_t place = at - map->start;
	const struct symtab_entry *e = table ? symtab_find(table, place) : NULL;

	found->object = text_of(o->path);
	found->offset = place;
	if (!e) {
		o->nameless++;
		return false;
	}
	found->name = symbols_readable(s, o, e);
	found->offset = place - e->start;
	return true;
}

bool symbols_find_kernel(struct symbols *s, const struct symbols_map *map, uint64_t address,
			 bool is_return_address, struct symbol *found)
{
	const uint64_t at = address - is_return_address;
	struct kernel *k = &s->kernel;
	const bool in_module = is_module(map);

	open_kernel(s);
	*found = (struct symbol){ .object = TEXT(KERNEL_OBJECT) };
	bool is_named = find_ksymbol(k, at, found) || find_by_asking(s, at, found) ||
			find_in_list(k, map, at, found) ||
			(!in_module && find_in_vmlinux(s, at, found)) ||
			(in_module && find_in_module(s, map, at, found));

	if (is_named) {
		found->offset += is_return_address;
		return true;
	}
	if (!in_module)
		found->offset = address > k->is.reference_address ?
				address - k->is.reference_address : address;
	return false;
}

void symbols_kernel_remarks(struct symbols *s)
{
	if (s->kernel.why_not)
		symbols_remark(s, "%s", s->kernel.why_not);
}

void symbols_kernel_free(struct symbols *s)
{
	struct kernel *k = &s->kernel;

	ksymname_close(k->asked);
	kallsyms_free(k->list);
	object_free(k->vmlinux);
	hash_free(&k->modules);
	free(k->ksymbols);
}
