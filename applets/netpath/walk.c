/* The walk: every layer of the namespaces asked for is read, what moved since the look before is
 * attributed, each layer reports. */
#include "applets/netpath/netpath.h"

#include <errno.h>
#include <string.h>

#include "common/kernel/source.h"

struct state netpath;

static struct look looks[2];
static unsigned looks_done;

static const struct opt options[] = {
	{ 'N', "netns", "WHICH", "network namespaces: all, a name, a path or a PID (the own one)",
	  OPT_TEXT, &netpath.netns, false, NULL },
	{ 'i', "interface", "IFACE", "only this device and its queues (may be given again)",
	  OPT_TEXTS, &netpath.interfaces, false, NULL },
	{ 0, NULL, NULL, NULL, OPT_FLAG, NULL, false, NULL },
};

static int start(int argc, char **argv)
{
	netpath.now = &looks[0];
	netpath.before = &looks[1];
	looks_done = 0;
	return argc > 1 ? fail(EINVAL, "unexpected word '%s'", argv[1]) : 0;
}

bool netpath_wants(const struct space *s, const struct link *l)
{
	if (s->is_followed) {
		for (size_t i = 0; i < s->follow_count; i++)
			if (s->follows[i] == l->index)
				return true;
		return false;
	}
	for (size_t i = 0; i < netpath.interfaces.count; i++)
		if (!strcmp(netpath.interfaces.items[i], l->name))
			return true;
	return !netpath.interfaces.count;
}

/* ---- reading ---- */

static int read_layers(struct out *out, struct look *look, struct space *s)
{
	for (size_t i = 0; i < LAYERS; i++) {
		const struct layer *l = layers[i];

		if (!l || !l->read || (s->is_followed && !l->reads_followed))
			continue;
		int err = l->read(out, look, s);

		if (err < 0)
			return err;
	}
	return 0;
}

static struct space *add_space(struct look *look, const struct netns *ns)
{
	if (look->space_count == look->space_cap) {
		size_t cap = look->space_cap ? look->space_cap * 2 : 4;
		struct space *more = arena_alloc(&look->arena, cap * sizeof(*more));

		if (look->space_count)
			memcpy(more, look->spaces, look->space_count * sizeof(*more));
		look->spaces = more;
		look->space_cap = cap;
	}
	struct space *s = &look->spaces[look->space_count++];

	*s = (struct space){ .ns = *ns };
	s->ns.name = arena_strdup(&look->arena, ns->name);
	s->ns.path = arena_strdup(&look->arena, ns->path);
	return s;
}

/* It may have gone, and if nobody asked for it it need not be open to us. */
static int enter_and_read(struct out *out, struct look *look, const struct netns *ns)
{
	int err = netns_enter(ns);

	if (err == -ESRCH)
		return 0;
	if (err < 0) {
		if (netpath.netns)
			out_missing(out, "%s", fail_text());
		else
			out_note(out, "other network namespaces are not looked at: %s",
				 fail_text());
		return 0;
	}
	err = read_layers(out, look, add_space(look, ns));
	int left = netns_leave();

	return err < 0 ? err : left;
}

/* Where only findings are wanted all are looked at. */
static int select_spaces(struct out *out, struct netns_list *list)
{
	int err = -ENOENT;

	if (!netpath.netns && !out_wants_rows(out))
		err = netns_select("all", list);
	if (err < 0)
		err = netns_select(netpath.netns, list);
	if (err >= 0 && netpath.netns && !strcmp(netpath.netns, "all") && !list->is_complete)
		out_note(out, "other users' processes can't be looked at: some namespaces may be "
			      "left out");
	return err;
}

static bool is_read(const struct look *look, uint64_t inode)
{
	for (size_t i = 0; i < look->space_count; i++)
		if (look->spaces[i].ns.inode == inode)
			return true;
	return false;
}

/* Has a veth of what was asked for its other end in there? */
static int follow_into(struct out *out, struct look *look, const struct netns *ns)
{
	struct link *links = NULL;
	size_t count = 0;
	int err = is_read(look, ns->inode) ? -EEXIST : netns_enter(ns);

	if (err < 0)
		return 0;      /* not asked for */
	if (links_read(src_arena(), &links, &count) >= 0) {
		struct space *s = add_space(look, ns);

		s->is_followed = true;
		netpath_follow(look, s, links, count);
		if (s->follow_count)
			err = read_layers(out, look, s);
		else
			look->space_count--;
	}
	int left = netns_leave();

	return err < 0 ? err : left;
}

/* From one namespace or container to the host's side of its devices: mostly our own namespace. */
static int follow(struct out *out, struct look *look)
{
	struct netns_list list;

	if (!netpath.netns || !strcmp(netpath.netns, "all") || netns_select("all", &list) < 0)
		return 0;
	for (size_t i = 0; i < list.count; i++) {
		int err = follow_into(out, look, &list.items[i]);

		if (err < 0)
			return err;
	}
	return 0;
}

static int read_host(struct out *out, struct look *look)
{
	for (size_t i = 0; i < LAYERS; i++) {
		int err = layers[i] && layers[i]->read_host ? layers[i]->read_host(out, look) : 0;

		if (err < 0)
			return err;
	}
	return 0;
}

static int take_look(struct out *out, struct look *look)
{
	struct netns_list list;
	int err = select_spaces(out, &list);

	arena_reset(&look->arena);
	look->frame = src_frame()->index;
	look->spaces = NULL;
	look->space_count = look->space_cap = 0;
	memset(look->host, 0, sizeof(look->host));
	if (err >= 0)
		err = read_host(out, look);
	for (size_t i = 0; err >= 0 && i < list.count; i++)
		err = enter_and_read(out, look, &list.items[i]);
	return err < 0 ? err : follow(out, look);
}

/* ---- comparing ---- */

static const struct space *find_space(const struct look *look, uint64_t inode)
{
	for (size_t i = 0; i < look->space_count; i++)
		if (look->spaces[i].ns.inode == inode)
			return &look->spaces[i];
	return NULL;
}

const struct space *netpath_space_before(const struct walk *w, const struct space *s)
{
	return find_space(w->before, s->ns.inode);
}

static void compare(struct out *out, struct walk *w)
{
	for (size_t l = 0; l < LAYERS; l++)
		if (layers[l] && layers[l]->compare_host)
			layers[l]->compare_host(out, w);
	for (size_t i = 0; i < w->now->space_count; i++) {
		const struct space *s = &w->now->spaces[i];
		const struct space *was = find_space(w->before, s->ns.inode);
		bool is_new = !was && w->before->space_count &&
			netns_is_new(&s->ns, w->before->frame);

		for (size_t l = 0; l < LAYERS; l++)
			if (layers[l] && layers[l]->compare &&
			    (!s->is_followed || layers[l]->reads_followed))
				layers[l]->compare(out, w, i, was, is_new);
	}
	path_attribute(w);
}

static void report(struct out *out, struct walk *w)
{
	for (size_t l = 0; l < LAYERS; l++) {
		if (layers[l] && layers[l]->report)
			layers[l]->report(out, w);
		for (size_t i = 0; layers[l] && layers[l]->history && i < w->now->space_count; i++)
			if (!w->now->spaces[i].is_followed)
				layers[l]->history(out, &w->now->spaces[i]);
	}
}

static int look(struct out *out)
{
	struct look *now = netpath.before, *before = netpath.now;
	int err = take_look(out, now);

	if (err < 0)
		return err;
	netpath.now = now;
	netpath.before = before;
	if (!looks_done++ && !src_frame()->is_only)
		return 0;
	struct walk w = { .now = now, .before = before, .arena = out_arena(out),
			  .interval_ns = src_frame()->elapsed_ns };

	compare(out, &w);
	report(out, &w);
	if (out_wants_rows(out))
		netpath_show(out, &w);
	return 0;
}

static void stop(void)
{
	for (size_t l = 0; l < LAYERS; l++)
		if (layers[l] && layers[l]->stop)
			layers[l]->stop();
	for (size_t i = 0; i < 2; i++) {
		arena_free(&looks[i].arena);
		looks[i] = (struct look){ 0 };
	}
}

/* "-N blue -i eth0" */
static const char *narrowed(struct arena *a)
{
	const char *text = netpath.netns && strcmp(netpath.netns, "all") != 0 ?
		arena_printf(a, "-N %s", netpath.netns) : NULL;

	for (size_t i = 0; i < netpath.interfaces.count; i++)
		text = arena_printf(a, "%s%s-i %s", text ? text : "", text ? " " : "",
				    netpath.interfaces.items[i]);
	return text;
}

const struct mode netpath_walk = {
	.narrowed = narrowed,
	.operands = "[interval [count]]",
	.opts = options,
	.tables = netpath_walk_tables,
	.in_triage = true,
	.takes_interval = true,
	.start = start,
	.look = look,
	.stop = stop,
};
