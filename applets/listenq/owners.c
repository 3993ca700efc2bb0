/* Who has a listening socket open, and what these processes do now. */
#include <string.h>

#include "applets/listenq/listenq.h"
#include "common/base/scan.h"
#include "common/kernel/sockowner.h"
#include "common/kernel/source.h"
#include "common/kernel/task.h"
#include "common/report/redact.h"

#define THREADS_MAX 512                /* looked at for one text */
#define PLACES_MAX 16                  /* kernel functions they sleep in */
#define PLACES_SHOWN 3

struct place_count {
	const char *name;
	unsigned count;
};

struct threads {
	unsigned count, running, asleep, blocked, stopped;
	struct place_count places[PLACES_MAX];
	size_t place_count;
};

static const struct sock_owner *find_owners(uint64_t inode, size_t *count)
{
	*count = 0;
	/* what is asked of the whole host is asked outside any namespace */
	return inode == NA_U64 || !inode || sockowner_load() < 0 ? NULL :
		sockowner_find(inode, count);
}

const char *queue_owner_text(struct arena *a, uint64_t inode)
{
	size_t count;
	const struct sock_owner *owners = find_owners(inode, &count);

	if (!count)
		return NULL;
	const char *comm = sockowner_comm(owners[0].pid);
	const char *first = arena_printf(a, "%s/%u",
					 comm ? redact_name(a, NAME_COMMAND, comm) : "-",
					 owners[0].pid);

	return count > 1 ? arena_printf(a, "%s +%zu", first, count - 1) : first;
}

uint64_t queue_owner_pid(uint64_t inode)
{
	size_t count;
	const struct sock_owner *owners = find_owners(inode, &count);

	return count ? owners[0].pid : NA_U64;
}

bool listener_is_asked(const struct listener *l)
{
	size_t count;

	if (!listenq.pids.count)
		return true;
	const struct sock_owner *owners = find_owners(l->sock.inode, &count);

	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < listenq.pids.count; k++)
			if (listenq.pids.items[k] == owners[i].pid)
				return true;
	return false;
}

static void add_place(struct threads *t, const char *name)
{
	size_t i = 0;

	while (i < t->place_count && strcmp(t->places[i].name, name) != 0)
		i++;
	if (i == PLACES_MAX)
		return;
	if (i == t->place_count)
		t->places[t->place_count++].name = name;
	t->places[i].count++;
}

static void add_thread(struct threads *t, uint32_t pid, uint32_t tid)
{
	struct task_stat stat;
	struct text text;

	if (src_readf(&text, "proc/%u/task/%u/stat", pid, tid) < 0 ||
	    task_parse_stat(text, &stat) < 0)
		return;
	t->count++;
	t->running += stat.state == 'R';
	t->blocked += stat.state == 'D';
	t->stopped += stat.state == 'T' || stat.state == 't';
	t->asleep += stat.state == 'S' || stat.state == 'I';
	if (stat.state != 'S' && stat.state != 'D')
		return;
	if (src_readf(&text, "proc/%u/task/%u/wchan", pid, tid) >= 0 && text.len &&
	    !text_is(text, "0"))
		add_place(t, arena_text(src_arena(), text));
}

static void add_process(struct threads *t, uint32_t pid)
{
	struct src_names tids;
	uint64_t tid;

	if (src_list(arena_printf(src_arena(), "proc/%u/task", pid), &tids) < 0)
		return;
	for (size_t i = 0; i < tids.count && t->count < THREADS_MAX; i++)
		if (scan_all_u64(text_of(tids.items[i]), &tid) && tid <= UINT32_MAX)
			add_thread(t, pid, (uint32_t)tid);
}

static const char *add_words(struct arena *a, const char *list, unsigned n, const char *what)
{
	return n ? arena_printf(a, "%s%s%u %s", list, *list ? ", " : "", n, what) : list;
}

/* " (3 in inet_csk_accept, 1 in ep_poll)", most first */
static const char *places_text(struct arena *a, struct threads *t)
{
	const char *list = "";

	for (unsigned shown = 0; shown < PLACES_SHOWN; shown++) {
		struct place_count *most = NULL;

		for (size_t i = 0; i < t->place_count; i++)
			if (t->places[i].count && (!most || t->places[i].count > most->count))
				most = &t->places[i];
		if (!most)
			break;
		list = add_words(a, list, most->count,
				 arena_printf(a, "in %s", out_escape(a, most->name)));
		most->count = 0;
	}
	return *list ? arena_printf(a, " (%s)", list) : "";
}

const char *queue_owner_threads_text(struct arena *a, uint64_t inode)
{
	struct threads t = { 0 };
	size_t count;
	const struct sock_owner *owners = find_owners(inode, &count);
	const char *list = "";

	for (size_t i = 0; i < count && t.count < THREADS_MAX; i++)
		add_process(&t, owners[i].pid);
	if (!t.count)
		return NULL;
	list = add_words(a, list, t.running, "running or runnable");
	list = add_words(a, list, t.stopped, "stopped");
	list = add_words(a, list, t.blocked, "in D");
	list = add_words(a, list, t.asleep, "asleep");
	return arena_printf(a, "%u thread%s%s: %s%s", t.count, t.count == 1 ? "" : "s",
			    t.count == THREADS_MAX ? " looked at" : "", list, places_text(a, &t));
}

uint64_t queue_owner_descriptors(uint64_t inode, uint64_t *used, uint64_t *limit)
{
	size_t count;
	const struct sock_owner *owners = find_owners(inode, &count);
	uint64_t pid = NA_U64;
	double fullest = -1;

	for (size_t i = 0; i < count; i++) {
		uint64_t n = sockowner_fd_count(owners[i].pid);
		uint64_t most = sockowner_fd_limit(owners[i].pid);
		double fill = ratio_of(n, most);

		if (isnan(fill) || fill <= fullest)
			continue;
		fullest = fill;
		pid = owners[i].pid;
		*used = n;
		*limit = most;
	}
	return pid;
}
