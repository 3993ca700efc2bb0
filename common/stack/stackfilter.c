#include "common/stack/stackfilter.h"

#include <errno.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/fail.h"
#include "common/base/mem.h"
#include "common/base/na.h"
#include "common/base/scan.h"

/* What is known of a name, looked up once for each. */
enum {
	IS_KNOWN = 1, IS_INCLUDED = 2, IS_EXCLUDED = 4, IS_SKIPPED_AFTER = 8,
};

struct stack_filter {
	struct stack_filter_options options;
	struct stack_filter_counts counts;
	struct fold *fold;
	regex_t include, exclude;
	bool has_include, has_exclude;
	uint8_t *cpus;                 /* STACK_CPUS_MAX; NULL: all */
	uint8_t *known;                /* by name */
	size_t known_cap;
	uint32_t *path;                /* root first, while a stack is placed */
	size_t path_cap;
	struct buf text;
};

static int compile(regex_t *r, const char *expression, const char *option, bool *has)
{
	char why[128];

	if (!expression)
		return 0;
	const int err = regcomp(r, expression, REG_EXTENDED | REG_NOSUB);

	if (err) {
		regerror(err, r, why, sizeof(why));
		return fail(EINVAL, "--%s %s: %s", option, expression, why);
	}
	*has = true;
	return 0;
}

static void set_cpu(unsigned cpu, void *arg)
{
	((uint8_t *)arg)[cpu] = 1;
}

static int prepare(struct stack_filter *s)
{
	const struct stack_filter_options *o = &s->options;
	int err = compile(&s->include, o->include, "include", &s->has_include);

	if (!err)
		err = compile(&s->exclude, o->exclude, "exclude", &s->has_exclude);
	if (err)
		return err;
	if (!o->cpus)
		return 0;
	s->cpus = mem_alloc(STACK_CPUS_MAX);
	if (scan_cpu_list(text_of(o->cpus), STACK_CPUS_MAX, set_cpu, s->cpus) <= 0)
		return fail(EINVAL, "--cpu %s: not a list of CPUs", o->cpus);
	return 0;
}

int stack_filter_new(const struct stack_filter_options *o, struct fold *f,
		     struct stack_filter **made)
{
	struct stack_filter *s = mem_alloc(sizeof(*s));

	s->options = *o;
	s->fold = f;
	const int err = prepare(s);

	if (err) {
		stack_filter_free(s);
		return err;
	}
	*made = s;
	return 0;
}

void stack_filter_free(struct stack_filter *s)
{
	if (!s)
		return;
	if (s->has_include)
		regfree(&s->include);
	if (s->has_exclude)
		regfree(&s->exclude);
	free(s->cpus);
	free(s->known);
	free(s->path);
	buf_free(&s->text);
	free(s);
}

const struct stack_filter_counts *stack_filter_counts(const struct stack_filter *s)
{
	return &s->counts;
}

bool stack_filter_wants(struct stack_filter *s, double time, uint64_t cpu)
{
	const struct stack_filter_options *o = &s->options;

	if ((o->has_from || o->has_to) && is_na_f64(time)) {
		s->counts.without_time++;
		return false;
	}
	if (s->cpus && is_na_u64(cpu)) {
		s->counts.without_cpu++;
		return false;
	}
	if ((o->has_from && time < o->from) || (o->has_to && time > o->to) ||
	    (s->cpus && (cpu >= STACK_CPUS_MAX || !s->cpus[cpu]))) {
		s->counts.excluded++;
		return false;
	}
	return true;
}

enum root_frame stack_filter_by(const struct stack_filter *s)
{
	return s->options.by;
}

bool stack_filter_asks_frames(const struct stack_filter *s)
{
	return s->has_include || s->has_exclude || s->options.skip_after_count ||
	       s->options.max_depth || s->options.reverse;
}

/* ---- the root frame ---- */

static void add_or_unknown(struct buf *to, const char *prefix, struct text t)
{
	buf_add_text(to, prefix);
	if (t.len)
		buf_add(to, t.data, t.len);
	else
		buf_add_char(to, '?');
}

static void write_root(struct buf *to, enum root_frame by, const struct stack_task *t)
{
	if (by == ROOT_CPU) {
		add_or_unknown(to, "cpu_", t->cpu);
		return;
	}
	if (by == ROOT_CGROUP) {
		add_or_unknown(to, "", t->cgroup);
		return;
	}
	if (!t->comm.len && by == ROOT_COMM)
		return;
	add_or_unknown(to, "", t->comm);
	for (size_t i = 0; i < to->len; i++)
		if (to->data[i] == ' ' || to->data[i] == '\t')
			to->data[i] = '_';
	if (by == ROOT_PID || by == ROOT_TID)
		add_or_unknown(to, "-", t->pid);
	if (by == ROOT_TID)
		add_or_unknown(to, "/", t->tid);
}

uint32_t stack_filter_root(struct stack_filter *s, const struct stack_task *t)
{
	buf_reset(&s->text);
	if (s->options.by != ROOT_NONE)
		write_root(&s->text, s->options.by, t);
	return s->text.len ? fold_name(s->fold, buf_text(&s->text)) : 0;
}

/* ---- frames ---- */

/* Is the name one of those, an annotation ("_[k]") at its end aside? */
static bool is_skipped_after(const struct stack_filter *s, struct text name)
{
	if (name.len > 4 && name.data[name.len - 1] == ']' &&
	    !memcmp(name.data + name.len - 4, "_[", 2))
		name.len -= 4;
	for (size_t i = 0; i < s->options.skip_after_count; i++)
		if (text_is(name, s->options.skip_after[i]))
			return true;
	return false;
}

static uint8_t look_at(struct stack_filter *s, uint32_t name)
{
	const struct text t = fold_name_text(s->fold, name);
	uint8_t found = IS_KNOWN;

	/* regexec wants a NUL; a name that holds one matches by what is in front of it */
	buf_reset(&s->text);
	buf_add(&s->text, t.data, t.len);
	buf_add_char(&s->text, '\0');
	if (s->has_include && !regexec(&s->include, s->text.data, 0, NULL, 0))
		found |= IS_INCLUDED;
	if (s->has_exclude && !regexec(&s->exclude, s->text.data, 0, NULL, 0))
		found |= IS_EXCLUDED;
	if (is_skipped_after(s, t))
		found |= IS_SKIPPED_AFTER;
	return found;
}

static uint8_t known(struct stack_filter *s, uint32_t name)
{
	s->known = mem_grow(s->known, &s->known_cap, (size_t)name + 1, 1);
	if (!s->known[name])
		s->known[name] = look_at(s, name);
	return s->known[name];
}

/* Root first, without what skip_after cuts. SIZE_MAX: a name is missing (limits of fold.h). */
static size_t fill_path(struct stack_filter *s, uint32_t root, const uint32_t *names, size_t count,
			bool is_leaf_first)
{
	size_t n = 0, cut_from;

	s->path = mem_grow(s->path, &s->path_cap, count + 1, sizeof(*s->path));
	if (root)
		s->path[n++] = root;
	cut_from = n;
	for (size_t i = 0; i < count; i++) {
		const uint32_t name = names[is_leaf_first ? count - 1 - i : i];

		if (name == FOLD_FULL)
			return SIZE_MAX;
		if (s->options.skip_after_count && known(s, name) & IS_SKIPPED_AFTER)
			n = cut_from;
		s->path[n++] = name;
	}
	return n;
}

static bool is_wanted(struct stack_filter *s, size_t depth)
{
	uint8_t all = 0;

	if (!s->has_include && !s->has_exclude)
		return true;
	for (size_t i = 0; i < depth; i++)
		all |= known(s, s->path[i]);
	return !(all & IS_EXCLUDED) && (!s->has_include || all & IS_INCLUDED);
}

uint32_t stack_filter_place(struct stack_filter *s, uint32_t root, const uint32_t *names,
			    size_t count, bool is_leaf_first, bool *is_cut)
{
	const unsigned most = s->options.max_depth;
	uint32_t node = FOLD_ROOT;

	*is_cut = false;
	if (!stack_filter_asks_frames(s)) {
		if (root)
			node = fold_child_of(s->fold, FOLD_ROOT, root);
		for (size_t i = 0; i < count; i++)
			node = fold_child_of(s->fold, node,
					     names[is_leaf_first ? count - 1 - i : i]);
		return node ? node : fold_child(s->fold, FOLD_ROOT, TEXT("[no stack]"));
	}
	if (root == FOLD_FULL)
		return FOLD_FULL;
	size_t depth = fill_path(s, root, names, count, is_leaf_first);

	if (depth == SIZE_MAX)
		return FOLD_FULL;
	if (!is_wanted(s, depth))
		return STACK_DROPPED;
	const size_t own = root && !s->options.reverse ? 1 : 0, all = depth;

	if (most && depth - own > most)
		depth = most + own;
	*is_cut = depth < all;
	for (size_t i = 0; i < depth; i++)
		node = fold_child_of(s->fold, node,
				     s->path[s->options.reverse ? all - 1 - i : i]);
	return node ? node : fold_child(s->fold, FOLD_ROOT, TEXT("[no stack]"));
}

bool stack_filter_count(struct stack_filter *s, uint32_t node, bool is_cut)
{
	if (node == FOLD_FULL)
		s->counts.lost++;
	else if (node == STACK_DROPPED)
		s->counts.excluded++;
	s->counts.cut += is_cut;
	return node < STACK_DROPPED;
}
