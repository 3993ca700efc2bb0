/* Memory without a file behind it: a JIT's code, named by the map that it may have written. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/scan.h"
#include "common/stack/perfmap.h"
#include "common/stack/symbols_impl.h"

#define STATUS_BYTES_MAX 65536
#define PROCESSES_NAMED_MAX 3          /* that remarks name */

struct jit {
	uint32_t pid;
	struct hostfile file;
	struct perfmap *map;           /* NULL: none */
	uid_t foreign_owner;           /* whose the file is, if it was refused for that */
	bool is_foreign;
	uint64_t nameless;
	const char *comm;
	struct jit *next;
};

static bool begins(const char *path, const char *with)
{
	return !strncmp(path, with, strlen(with));
}

static bool is_jit_path(const char *path)
{
	static const char *const kinds[] = {
		"//anon", "[anon", "[heap]", "[stack", "/memfd:", "/dev/zero", "/SYSV",
		"/anon_hugepage", "anon_inode:", "/[", "/tmp/perf-",
	};

	if (!*path)
		return true;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (begins(path, kinds[i]))
			return true;
	return false;
}

bool symbols_is_jit(const struct symbols_map *map)
{
	return !(map->slot && *map->slot) && is_jit_path(map->path);
}

/* What /proc says of a process while it lives. */
struct living {
	uint64_t own_pid;              /* in its innermost pid namespace */
	uint64_t uid;
	bool is_there;
};

static struct living look_up(uint32_t pid)
{
	struct living l = { .own_pid = pid };
	struct buf status = { 0 };
	char path[40];
	struct text value, word;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/status", pid);
	if (!hostfile_read(NULL, path, STATUS_BYTES_MAX, &status)) {
		l.is_there = true;
		if (scan_find_key(buf_text(&status), "NSpid", &value)) {
			struct scan s = scan_of(value);

			while (scan_word(&s, &word))
				scan_all_u64(word, &l.own_pid);
		}
		if (scan_find_key(buf_text(&status), "Uid", &value)) {
			struct scan s = scan_of(value);

			l.is_there = scan_u64(&s, &l.uid);
		}
	}
	buf_free(&status);
	return l;
}

/* /tmp is everybody's: only the process's own user, or root, may name its functions. */
static bool is_trusted(const struct hostfile *f, const struct living *l)
{
	return f->owner == 0 || f->owner == geteuid() || (l->is_there && f->owner == l->uid);
}

static bool try_map(struct jit *j, const struct living *l, const char *root, uint64_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/tmp/perf-%" PRIu64 ".map", pid);
	if (hostfile_map(root, path, &j->file))
		return false;
	if (!is_trusted(&j->file, l) || j->file.bytes.len > PERFMAP_BYTES_MAX) {
		j->is_foreign = !is_trusted(&j->file, l);
		j->foreign_owner = j->file.owner;
		hostfile_unmap(&j->file);
		return false;
	}
	j->map = perfmap_new(j->file.bytes);
	j->is_foreign = false;
	return true;
}

static void open_map(struct symbols *s, struct jit *j)
{
	struct living l = { 0 };
	char root[40];

	if (s->options.symfs) {
		l = (struct living){ .is_there = true, .uid = geteuid() };
		try_map(j, &l, s->options.symfs, j->pid);
		return;
	}
	if (!s->options.is_this_boot || !j->pid)
		return;
	l = look_up(j->pid);
	snprintf(root, sizeof(root), "/proc/%" PRIu32 "/root", j->pid);
	if (l.is_there && (l.own_pid != j->pid || object_process_is_elsewhere(j->pid)) &&
	    try_map(j, &l, root, l.own_pid))
		return;
	try_map(j, &l, NULL, j->pid);
}

static struct jit *jit_of(struct symbols *s, const struct symbols_map *map)
{
	void **slot = hash_number(&s->jits, map->pid);

	if (*slot)
		return *slot;
	struct jit *j = mem_alloc(sizeof(*j));

	*slot = j;
	j->pid = map->pid;
	j->comm = mem_strdup(map->comm);
	j->next = s->first_jit;
	s->first_jit = j;
	open_map(s, j);
	return j;
}

static struct text object_name(const struct symbols_map *map, const struct jit *j)
{
	if (j->map)
		return TEXT("[JIT]");
	if (begins(map->path, "[heap]"))
		return TEXT("[heap]");
	if (begins(map->path, "[stack"))
		return TEXT("[stack]");
	return *map->path ? TEXT("[anon]") : (struct text){ "", 0 };
}

bool symbols_find_jit(struct symbols *s, const struct symbols_map *map, uint64_t address,
		      struct symbol *found)
{
	struct jit *j = jit_of(s, map);
	uint64_t start;
	struct text name;

	*found = (struct symbol){ .object = object_name(map, j), .offset = address };
	if (!j->map || !perfmap_find(j->map, address, &name, &start)) {
		j->nameless += *map->path != '\0';     /* else it may be no code at all */
		return false;
	}
	found->name = name;
	found->offset = address - start;
	return true;
}

void symbols_forget_jit(struct symbols *s)
{
	while (s->first_jit) {
		struct jit *j = s->first_jit;

		s->first_jit = j->next;
		perfmap_free(j->map);
		hostfile_unmap(&j->file);
		free((char *)j->comm);
		free(j);
	}
	hash_reset(&s->jits);
}

void symbols_jit_free(struct symbols *s)
{
	symbols_forget_jit(s);
	hash_free(&s->jits);
}

static const char *hint(const char *comm)
{
	if (comm && begins(comm, "java"))
		return "; java needs -XX:+PreserveFramePointer and -XX:+DumpPerfMapAtExit (17) or "
		       "perf-map-agent";
	if (comm && begins(comm, "node"))
		return "; node needs --perf-basic-prof";
	if (comm && begins(comm, "python"))
		return "; python needs -X perf (3.12)";
	if (comm && (begins(comm, "dotnet") || begins(comm, ".NET")))
		return "; .NET needs DOTNET_PerfMapEnabled=1";
	return "; if it is a JIT: java -XX:+PreserveFramePointer with a perf map agent, "
	       "node --perf-basic-prof";
}

static void remark(struct symbols *s, const struct jit *j)
{
	const char *comm = j->comm ? j->comm : "process";

	if (j->is_foreign)
		symbols_remark(s, "%s %" PRIu32 ": /tmp/perf-%" PRIu32 ".map not used: it belongs "
			       "to user %u", comm, j->pid, j->pid, (unsigned)j->foreign_owner);
	else if (!j->map)
		symbols_remark(s, "%s %" PRIu32 ": %" PRIu64 " addresses in memory without a file, "
			       "and no perf map%s", comm, j->pid, j->nameless, hint(j->comm));
}

static int compare_nameless(const void *a, const void *b)
{
	const struct jit *x = *(const struct jit *const *)a, *y = *(const struct jit *const *)b;

	if (x->nameless != y->nameless)
		return x->nameless > y->nameless ? -1 : 1;
	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

void symbols_jit_remarks(struct symbols *s)
{
	struct jit **list = NULL;
	size_t count = 0, cap = 0;

	for (struct jit *j = s->first_jit; j; j = j->next) {
		if (!j->nameless || (j->map && !j->is_foreign))
			continue;
		list = mem_grow(list, &cap, count + 1, sizeof(struct jit *));
		list[count++] = j;
	}
	if (count)
		qsort(list, count, sizeof(*list), compare_nameless);
	for (size_t i = 0; i < count && i < PROCESSES_NAMED_MAX; i++)
		remark(s, list[i]);
	if (count > PROCESSES_NAMED_MAX)
		symbols_remark(s, "%zu more processes have such addresses",
			       count - PROCESSES_NAMED_MAX);
	free(list);
}
