#include "applets/netpath/counters.h"

#include <errno.h>

#include "common/kernel/netcount.h"
#include "common/kernel/source.h"

enum file { SNMP, NETSTAT, SNMP6, FILES };

static const char *const paths[FILES] = { "proc/net/snmp", "proc/net/netstat", "proc/net/snmp6" };
static const char *const proofs[FILES] = { "cat /proc/net/snmp", "cat /proc/net/netstat",
	"cat /proc/net/snmp6" };

static const struct {
	enum file file;
	const char *group, *name, *whole;
} counters[COUNTERS] = {
#define X(file, group, name) [group##name] = { file, #group, #name, #group #name },
	NETPATH_COUNTERS(X)
#undef X
};

void counters_read(struct out *out, struct counters *c)
{
	struct text files[FILES];

	for (int i = 0; i < FILES; i++) {
		int err = src_read(paths[i], &files[i]);

		if (err < 0 && !(i == SNMP6 && err == -ENOENT))
			out_missing(out, "%s", fail_text());
		if (err < 0)
			files[i] = TEXT("");
	}
	for (int i = 0; i < COUNTERS; i++)
		c->n[i] = counters[i].file == SNMP6 ?
			netcount_find(files[SNMP6], NULL, counters[i].whole) :
			netcount_find(files[counters[i].file], counters[i].group, counters[i].name);
}

const char *counter_name(enum counter c)
{
	return counters[c].whole;
}

const char *counter_proof(enum counter c)
{
	return proofs[counters[c].file];
}

uint64_t counter_moved(const struct space *s, const struct space *was, bool is_new, enum counter c)
{
	const struct counters *now = counters_of(s), *before = was ? counters_of(was) : NULL;

	if (!now || (was && !before))
		return NA_U64;
	return path_moved(now->n[c], before ? &before->n[c] : NULL, is_new);
}

struct meter *counter_meter(struct walk *w, const struct space *s, const struct space *was,
			    bool is_new, enum counter c, enum meter_kind kind)
{
	const struct counters *now = counters_of(s);

	if (!now || now->n[c] == NA_U64)
		return NULL;
	return path_add_meter(w, kind, counters[c].whole, counter_moved(s, was, is_new, c),
			      now->n[c], proofs[counters[c].file]);
}

const char *counters_text(struct arena *a, const char *const *names, const uint64_t *n,
			  size_t count)
{
	const char *text = NULL;

	for (size_t i = 0; i < count; i++)
		if (is_some(n[i]))
			text = arena_printf(a, "%s%s%s %s", text ? text : "", text ? ", " : "",
					    names[i], human_count_u64(a, n[i]));
	return text;
}
