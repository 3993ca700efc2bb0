/*
 * Single lines. Names may hold any byte, so they end at the last place where what follows them
 * makes sense; numbers are found from the line's end where names stand before them.
 */
#include <string.h>

#include "common/base/scan.h"
#include "common/kernel/memcg.h"
#include "common/kernel/oomlog_impl.h"

#define NO_LIMIT_KB 9007199254740000u  /* PAGE_COUNTER_MAX and LLONG_MAX, whatever the page size */
#define ADJ_UNKNOWN NA_I64

/* ---- finding things ---- */

static const char *find(struct text t, const char *needle)
{
	return t.len ? memmem(t.data, t.len, needle, strlen(needle)) : NULL;
}

static const char *find_last(struct text t, const char *needle)
{
	const size_t n = strlen(needle);
	const char *found = NULL;

	while (t.len >= n) {
		const char *p = memmem(t.data, t.len, needle, n);

		if (!p)
			break;
		found = p;
		t.len -= (size_t)(p + 1 - t.data);
		t.data = p + 1;
	}
	return found;
}

static struct text up_to(struct text t, const char *p)
{
	return (struct text){ t.data, (size_t)(p - t.data) };
}

static struct text behind(struct text t, const char *p, const char *needle)
{
	p += strlen(needle);
	return (struct text){ p, (size_t)(t.data + t.len - p) };
}

static bool is_within(struct text group, struct text above)
{
	if (above.len == 1 && *above.data == '/')
		return group.len && *group.data == '/';
	return above.len && group.len >= above.len && !memcmp(group.data, above.data, above.len) &&
	       (group.len == above.len || group.data[above.len] == '/');
}

bool oom_is_within(const char *group, const char *above)
{
	return is_within(text_of(group), text_of(above));
}

static uint64_t kb(uint64_t n)
{
	return n > UINT64_MAX >> 11 ? NA_U64 : n << 10;
}

/* "KEY123kB": its bytes; NA_U64 without it. */
static uint64_t size_of(struct text t, const char *key)
{
	const char *p = find(t, key);
	uint64_t n;

	if (!p)
		return NA_U64;
	struct scan s = scan_of(behind(t, p, key));

	return scan_u64(&s, &n) ? kb(n) : NA_U64;
}

static uint64_t number_of(struct text t, const char *key)
{
	const char *p = find(t, key);
	uint64_t n;

	if (!p)
		return NA_U64;
	struct scan s = scan_of(behind(t, p, key));

	return scan_u64(&s, &n) ? n : NA_U64;
}

/* ---- victims ---- */

enum oom_constraint oomline_message(struct text *text)
{
	static const struct {
		const char *words;
		enum oom_constraint constraint;
	} messages[] = {
		{ "Memory cgroup out of memory: ", OOM_MEMCG },
		{ "Out of memory: ", OOM_HOST },
		{ "Out of memory (oom_kill_allocating_task): ", OOM_HOST },
	};

	for (size_t i = 0; i < sizeof(messages) / sizeof(*messages); i++)
		if (text_starts(*text, messages[i].words)) {
			*text = behind(*text, text->data, messages[i].words);
			return messages[i].constraint;
		}
	return OOM_UNKNOWN;
}

/* The name runs to the last of these endings; of a line that was cut, to its last parenthesis. */
static struct text name_in(struct text t, const char *ending, const char *other)
{
	const char *p = find_last(t, ending), *q = other ? find_last(t, other) : NULL;

	p = q && (!p || q > p) ? q : p;
	p = p ? p : find_last(t, ")");
	return p ? up_to(t, p) : t;
}

static void read_sizes(struct text t, struct oom_victim *v)
{
	const char *adj = find(t, "oom_score_adj:");

	v->total_vm_bytes = size_of(t, "total-vm:");
	v->anon_bytes = size_of(t, "anon-rss:");
	v->file_bytes = size_of(t, "file-rss:");
	v->shmem_bytes = size_of(t, "shmem-rss:");
	v->pgtables_bytes = size_of(t, "pgtables:");
	v->uid = number_of(t, "UID:");
	if (v->uid == NA_U64)
		v->uid = number_of(t, "), UID ");
	/* 5.4 gives bytes and says kB: whole pages, and more than page tables come to */
	if (v->pgtables_bytes != NA_U64 && v->total_vm_bytes != NA_U64 &&
	    v->pgtables_bytes > v->total_vm_bytes / 64 && v->pgtables_bytes % (4096 << 10) == 0)
		v->pgtables_bytes >>= 10;
	if (adj) {
		struct scan s = scan_of(behind(t, adj, "oom_score_adj:"));

		scan_i64(&s, &v->oom_score_adj);
	}
}

bool oomline_victim(struct text text, struct oom_victim *v)
{
	struct scan s = scan_of(text);
	const bool is_chosen = scan_literal(&s, "Kill process ");
	uint64_t pid;

	if ((!is_chosen && !scan_literal(&s, "Killed process ")) || !scan_u64(&s, &pid) ||
	    !scan_literal(&s, " ("))
		return false;
	const struct text t = scan_rest(&s);

	*v = (struct oom_victim){ .pid = pid, .uid = NA_U64, .is_chosen = is_chosen,
				  .oom_score_adj = ADJ_UNKNOWN };
	v->comm = is_chosen ? name_in(t, ") score ", NULL) : name_in(t, ") total-vm:", "), UID ");
	read_sizes((struct text){ v->comm.data + v->comm.len, t.len - v->comm.len }, v);
	return true;
}

bool oomline_is_garbled(struct text text)
{
	struct scan s = scan_of(text);

	return (scan_literal(&s, "Kill process ") || scan_literal(&s, "Killed process ")) &&
	       (s.at == s.end || (*s.at >= '0' && *s.at <= '9'));
}

bool oomline_exiting(struct text text, uint64_t *pid)
{
	struct scan s = scan_of(text);

	return scan_literal(&s, "OOM victim ") && find(text, ") is already exiting") &&
	       scan_u64(&s, pid);
}

/* ---- "oom-kill:" ---- */

/* Takes the last KEY off; what stands behind it is the value. */
static bool cut_value(struct text *t, const char *key, struct text *value)
{
	const char *p = find_last(*t, key);

	if (!p)
		return false;
	*value = behind(*t, p, key);
	*t = up_to(*t, p);
	return true;
}

static enum oom_constraint constraint_of(struct text t)
{
	static const struct {
		const char *name;
		enum oom_constraint constraint;
	} all[] = {
		{ "CONSTRAINT_NONE", OOM_NONE },
		{ "CONSTRAINT_CPUSET", OOM_CPUSET },
		{ "CONSTRAINT_MEMORY_POLICY", OOM_MEMORY_POLICY },
		{ "CONSTRAINT_MEMCG", OOM_MEMCG },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (text_is(t, all[i].name))
			return all[i].constraint;
	return OOM_UNKNOWN;
}

/* "A<between>B" where B lies within A; a group's name may hold the words between. */
static bool split_groups(struct text t, const char *between, struct text known, struct text *above,
			 struct text *group)
{
	bool is_found = false;
	struct text rest = t;

	for (const char *p; (p = find(rest, between)); rest = behind(rest, p, between)) {
		const struct text a = up_to(t, p), b = behind(t, p, between);

		if (!is_found) {
			*above = a, *group = b;
			is_found = true;
		}
		if (known.len ? text_equals(a, known) :
				is_within(b, a)) {
			*above = a, *group = b;
			return true;
		}
	}
	return is_found;
}

/* "0-1,3" and the comma behind it */
static struct text take_nodes(struct scan *s)
{
	const char *start = s->at;

	while (s->at < s->end && ((*s->at >= '0' && *s->at <= '9') || *s->at == ',' ||
				  *s->at == '-'))
		s->at++;
	const char *end = s->at > start && s->at[-1] == ',' ? s->at - 1 : s->at;

	return (struct text){ start, (size_t)(end - start) };
}

/* mems_allowed=0,oom_memcg=/l,task_memcg=/v or mems_allowed=0,global_oom,task_memcg=/v; a cpuset's
 * name stands before it and may hold anything. */
static void read_groups(struct text t, struct text known, struct oom_facts *f)
{
	const char *key = ",mems_allowed=", *p;

	for (struct text rest = t; (p = find(rest, key)); rest = behind(rest, p, key)) {
		struct scan s = scan_of(behind(t, p, key));
		const struct text nodes = take_nodes(&s);

		if (scan_literal(&s, "oom_memcg=")) {
			split_groups(scan_rest(&s), ",task_memcg=", known, &f->limited_by,
				     &f->cgroup);
		} else if (scan_literal(&s, "global_oom")) {
			if (scan_literal(&s, ",task_memcg="))
				f->cgroup = scan_rest(&s);
		} else {
			continue;
		}
		f->mems_allowed = nodes;
		return;
	}
}

bool oomline_facts(struct text text, struct text known, struct oom_facts *f)
{
	struct oom_facts new = { .uid = NA_U64 };
	struct text t = text, word, uid, pid;

	/* an id without what follows it may have been cut */
	if (!cut_value(&t, ",uid=", &uid) || (uid.len && !scan_all_u64(uid, &new.uid)) ||
	    !cut_value(&t, ",pid=", &pid) || !scan_all_u64(pid, &new.pid) ||
	    !cut_value(&t, ",task=", &new.comm))
		return false;
	struct scan s = scan_of(t);

	if (scan_literal(&s, "constraint=") && scan_until(&s, ',', &word))
		new.constraint = constraint_of(word);
	if (scan_literal(&s, "nodemask="))
		new.nodemask = take_nodes(&s);
	read_groups(t, known, &new);
	*f = new;
	return true;
}

/* ---- the rest of a report ---- */

bool oomline_invoked(struct text text, struct text *comm, bool *is_manual)
{
	const struct text head = { text.data, text.len < 2 * OOM_NAME_MAX ? text.len :
									    2 * OOM_NAME_MAX };
	const char *p = find(head, " invoked oom-killer:");

	if (!p || p - text.data > OOM_NAME_MAX)
		return false;
	*comm = up_to(text, p);
	*is_manual = find(behind(text, p, " invoked"), ", order=-1,") != NULL;
	return true;
}

bool oomline_cpu_pid(struct text text, uint64_t *pid)
{
	const char *p = find(text, " PID: ");

	if (!p || !find(text, " Comm: "))
		return false;
	struct scan s = scan_of(behind(text, p, " PID: "));

	return scan_u64(&s, pid);
}

bool oomline_task_in(struct text text, struct text *cgroup, struct text *limited_by)
{
	/* the victim's comes first here */
	const char *between = " killed as a result of limit of ";
	struct scan s = scan_of(text);

	if (!scan_literal(&s, "Task in "))
		return false;
	const struct text t = scan_rest(&s);
	bool is_found = false;

	for (const char *p, *from = t.data;
	     (p = find((struct text){ from, (size_t)(t.data + t.len - from) }, between));
	     from = p + 1) {
		const struct text a = up_to(t, p), b = behind(t, p, between);

		if (is_found && !is_within(a, b))
			continue;
		*cgroup = a, *limited_by = b;
		is_found = true;
		if (is_within(a, b))
			break;
	}
	return is_found;
}

bool oomline_usage(struct text text, struct oom_usage *u)
{
	struct scan s = scan_of(text);
	uint64_t usage, limit, failcnt;

	if (!scan_literal(&s, "usage ") || !scan_u64(&s, &usage) ||
	    !scan_literal(&s, "kB, limit ") || !scan_u64(&s, &limit) ||
	    !scan_literal(&s, "kB, failcnt ") || !scan_u64(&s, &failcnt))
		return false;
	*u = (struct oom_usage){ kb(usage), limit >= NO_LIMIT_KB ? MEMCG_NONE : kb(limit),
				 failcnt };
	return true;
}

bool oomline_group(struct text text, struct text *group)
{
	struct scan s = scan_of(text);
	const char *p = find_last(text, " are going to be killed due to memory.oom.group set");

	if (!p || !scan_literal(&s, "Tasks in ") || p < s.at)
		return false;
	*group = (struct text){ s.at, (size_t)(p - s.at) };
	return true;
}

/* ---- the group's own numbers ---- */

bool oomline_stat_path(struct text text, struct text *path, struct text *stats)
{
	struct scan s = scan_of(text);

	if (!scan_literal(&s, "Memory cgroup stats for "))
		return false;
	const struct text t = scan_rest(&s);

	*stats = (struct text){ t.data + t.len, 0 };
	*path = t;
	if (t.len && t.data[t.len - 1] == ':') {
		path->len--;
	} else {
		const char *p = find_last(t, ": cache:");

		if (!p)
			return false;
		*path = up_to(t, p);
		*stats = behind(t, p, ": ");
	}
	return path->len > 0;
}

static void add(uint64_t *to, uint64_t n)
{
	if (*to == NA_U64)
		*to = 0;
	if (__builtin_add_overflow(*to, n, to))
		*to = NA_U64;
}

/* Where the number of this key goes; NULL: not one of ours. */
static uint64_t *place_of(struct text key, struct oom_stat *stat)
{
	const struct {
		const char *name;
		uint64_t *place;
	} all[] = {
		{ "anon", &stat->total_anon_bytes },   /* v2: with all below */
		{ "file", &stat->total_file_bytes },
		{ "rss", &stat->anon_bytes },
		{ "cache", &stat->file_bytes },
		{ "shmem", &stat->shmem_bytes },
		{ "total_rss", &stat->total_anon_bytes },
		{ "total_cache", &stat->total_file_bytes },
		{ "total_shmem", &stat->total_shmem_bytes },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (text_is(key, all[i].name))
			return all[i].place;
	return NULL;
}

bool oomline_stat_words(struct text text, struct oom_stat *stat)
{
	struct scan s = scan_of(text);
	struct text word, key;
	bool is_found = false;

	while (scan_word(&s, &word)) {
		struct scan w = scan_of(word);
		uint64_t n, *place;

		if (!scan_until(&w, ':', &key) || !(place = place_of(key, stat)) ||
		    !scan_u64(&w, &n) || !scan_literal(&w, "KB") || kb(n) == NA_U64)
			continue;
		add(place, kb(n));
		is_found = true;
	}
	return is_found;
}

static void stat_line(struct text line, struct oom_stat *stat)
{
	struct scan s = scan_of(line);
	struct text key;
	uint64_t n, *place;

	if (scan_word(&s, &key) && (place = place_of(key, stat)) && *place == NA_U64 &&
	    scan_u64(&s, &n) && (scan_blanks(&s), s.at == s.end))
		*place = n;
}

void oomline_stat_lines(struct text text, struct oom_stat *stat)
{
	struct scan s = scan_of(text);
	struct text line;
	const char *p;

	while (scan_line(&s, &line)) {
		/* how rsyslog writes a newline */
		while ((p = find(line, "#012"))) {
			stat_line(up_to(line, p), stat);
			line = behind(line, p, "#012");
		}
		stat_line(line, stat);
	}
}

/* ---- the task table ---- */

bool oomline_columns(struct text text, struct oom_columns *c)
{
	struct scan s = scan_of(text);
	struct oom_columns new = { .uid = UINT32_MAX, .rss = UINT32_MAX, .adj = UINT32_MAX };
	struct text word;

	if (!scan_literal(&s, "[") || !scan_word(&s, &word) || !text_is(word, "pid") ||
	    !scan_word(&s, &word) || !text_is(word, "]"))
		return false;
	for (;; new.count++) {
		if (!scan_word(&s, &word) || new.count > OOM_COLUMNS_MAX)
			return false;
		if (text_is(word, "name"))
			break;
		if (text_is(word, "uid"))
			new.uid = new.count;
		else if (text_is(word, "rss"))
			new.rss = new.count;
		else if (text_is(word, "oom_score_adj"))
			new.adj = new.count;
	}
	if (new.rss == UINT32_MAX || new.uid > new.rss)
		return false;
	*c = new;
	return true;
}

bool oomline_row(struct text text, const struct oom_columns *c, uint64_t at_least,
		 struct oom_row *row)
{
	struct scan s = scan_of(text);
	struct oom_row new = { .uid = NA_U64, .oom_score_adj = ADJ_UNKNOWN };

	if (!scan_literal(&s, "[") || !scan_u64(&s, &new.pid) || !scan_literal(&s, "]"))
		return false;
	for (unsigned i = 0; i < c->count; i++) {
		int64_t n;

		if (!scan_i64(&s, &n) || (n < 0 && i != c->adj))
			return false;
		if (i == c->uid)
			new.uid = (uint64_t)n;
		else if (i == c->adj)
			new.oom_score_adj = n;
		else if (i == c->rss)
			new.rss_pages = (uint64_t)n;
		if (i == c->rss && new.rss_pages < at_least)
			return false;
	}
	if (!scan_literal(&s, " "))
		return false;
	new.comm = scan_rest(&s);
	*row = new;
	return true;
}

/* ---- user space ---- */

static bool is_oomd_systemd(struct text program)
{
	return text_is(program, "systemd-oomd") || text_starts(program, "systemd-oomd[");
}

/* "Killed /system.slice/x due to memory pressure for ...", "... due to memory used (..) / .." */
static bool systemd_kill(struct text text, struct oom_user_kill *k)
{
	struct scan s = scan_of(text);

	if (!scan_literal(&s, "Killed ") || s.at == s.end || *s.at != '/')
		return false;
	const struct text t = scan_rest(&s);
	const char *p = find(t, " due to memory ");

	p = p ? p : find(t, " due to swap ");
	if (!p)
		return false;
	*k = (struct oom_user_kill){ OOM_BY_SYSTEMD_OOMD, up_to(t, p), behind(t, p, " due to ") };
	return true;
}

/* "oomd kill: 10.00 5.00 1.00 workload.slice/x 123456 ruleset:[..] detectorgroup:[..] killer:.." */
static bool oomd_kill(struct text text, struct oom_user_kill *k)
{
	struct scan s = scan_of(text);

	if (!scan_literal(&s, "oomd kill: ") || !scan_skip_words(&s, 3) || !scan_literal(&s, " "))
		return false;
	const struct text t = scan_rest(&s);
	const char *rules = find_last(t, " ruleset:["), *size;

	if (!rules || find(behind(t, rules, " "), "killer:(dry)"))
		return false;
	size = find_last(up_to(t, rules), " ");
	if (!size)
		return false;
	*k = (struct oom_user_kill){ OOM_BY_OOMD, up_to(t, size), behind(t, rules, " ") };
	return true;
}

bool oomline_user(struct text program, struct text text, struct oom_user_kill *k)
{
	struct scan s = scan_of(text);
	struct text tag;

	if (is_oomd_systemd(program))
		return systemd_kill(text, k);
	if (program.len && !text_starts(program, "oomd") && !text_is(program, "kernel"))
		return false;
	if (text_starts(text, "oomd kill: "))
		return oomd_kill(text, k);
	if (program.len || !text_starts(text, "systemd-oomd") || !scan_until(&s, ':', &tag))
		return false;
	scan_literal(&s, " ");
	return is_oomd_systemd(tag) && systemd_kill(scan_rest(&s), k);
}
