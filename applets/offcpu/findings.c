/* What is wrong, by the thresholds of the man page. */
#include <stdlib.h>

#include "applets/offcpu/offcpu.h"
#include "common/base/hash.h"
#include "common/base/na.h"
#include "common/report/redact.h"

#define LOCK_SHARE 0.10                /* of all time that is not idle, on CPUs or off */
#define LOCK_AT_ONCE 2u
#define DISK_SHARE 0.20
#define LEAST_AT_A_TIME 0.10           /* threads on average: less is not worth a word */
#define LOST_SHARE 0.001
#define CUT_SHARE 0.20                 /* of user threads' time */
#define OBJECTS_SHOWN 3
#define WHERE 6

static uint64_t at_once(const struct waits *w, const struct lock_sum *l)
{
	for (size_t i = 0; i < w->lock_count; i++)
		if (w->locks[i].tgid == l->tgid && w->locks[i].address == l->address)
			return w->locks[i].most;
	return 0;
}

static double seconds_per_second(const struct waits *w, uint64_t ns)
{
	return w->window_ns ? (double)ns / (double)w->window_ns : 0;
}

static void find_lock(struct out *out, const struct waits *w, const struct lock_sum *l,
		      uint64_t busy_ns)
{
	struct arena *a = out_arena(out);
	const struct wait_thread *t = &w->threads[l->thread];
	const char *comm = out_escape(a, redact_name(a, NAME_COMMAND, t->comm));
	const uint64_t most = at_once(w, l);
	struct finding *f = finding_start(a, offcpu_findings, "offcpu.lock", STATE_NOW,
		arena_printf(a, "lock 0x%llx of %s/%llu", (unsigned long long)l->address, comm,
			     (unsigned long long)l->tgid));

	f->lost = seconds_per_second(w, l->waited_ns);
	finding_u64(f, "pid", l->tgid);
	finding_u64(f, "waited_ns", l->waited_ns);
	finding_u64(f, "count", l->count);
	finding_u64(f, "waiters", l->waiters);
	finding_u64(f, "at_once", most);
	finding_u64(f, "max_ns", l->max_ns);
	finding_f64(f, "share_ratio", ratio_of(l->waited_ns, busy_ns));
	finding_line(f, "%s waits of %s threads took %s, the longest %s; up to %s at once; %s of "
		     "all time that is not idle",
		     human_count_u64(a, l->count), human_count_u64(a, l->waiters),
		     human_ns(a, (double)l->waited_ns), human_ns(a, (double)l->max_ns),
		     human_count_u64(a, most), human_ratio(a, ratio_of(l->waited_ns, busy_ns)));
	finding_line(f, "waits  in %s", view_where(a, w, l->user, WHERE));
	chain_tell(a, w, l->chain, f);
	finding_proof(f, "futex(0x%llx) as first argument in /proc/%llu/task/*/syscall",
		      (unsigned long long)l->address, (unsigned long long)l->tgid);
	finding_next(f, "perfbox offcpu -p %llu --locks --wakers --waker-depth 4",
		     (unsigned long long)l->tgid);
	out_finding(out, f);
}

static void find_locks(struct out *out, const struct view *v, uint64_t busy_ns)
{
	struct lock_sum *locks;
	const size_t count = locks_find(v->waits, out_arena(out), &locks);

	for (size_t i = 0; i < count; i++)
		if (locks[i].is_lock && locks[i].waiters >= 2 &&
		    at_once(v->waits, &locks[i]) >= LOCK_AT_ONCE &&
		    seconds_per_second(v->waits, locks[i].waited_ns) >= LEAST_AT_A_TIME &&
		    (double)locks[i].waited_ns >= LOCK_SHARE * (double)busy_ns)
			find_lock(out, v->waits, &locks[i], busy_ns);
}

static bool is_disk(enum wait_cause c)
{
	return c == CAUSE_DISK || c == CAUSE_JOURNAL || c == CAUSE_DIRTY;
}

static void find_disk(struct out *out, const struct view *v, uint64_t busy_ns)
{
	struct arena *a = out_arena(out);
	const struct wait_group *worst = NULL;
	uint64_t disk_ns = 0;

	for (size_t i = 0; i < v->count; i++) {
		if (!is_disk(v->groups[i].cause))
			continue;
		disk_ns += v->groups[i].sleep_ns;
		if (!worst || worst->sleep_ns < v->groups[i].sleep_ns)
			worst = &v->groups[i];
	}
	if (!worst || seconds_per_second(v->waits, disk_ns) < LEAST_AT_A_TIME ||
	    (double)disk_ns < DISK_SHARE * (double)busy_ns)
		return;
	struct finding *f = finding_start(a, offcpu_findings, "offcpu.disk", STATE_NOW,
		redact_name(a, NAME_COMMAND, worst->root ? worst->root : "host"));

	f->lost = seconds_per_second(v->waits, disk_ns);
	finding_u64(f, "waited_ns", disk_ns);
	finding_u64(f, "worst_ns", worst->sleep_ns);
	finding_u64(f, "worst_count", worst->count);
	finding_f64(f, "share_ratio", ratio_of(disk_ns, busy_ns));
	finding_line(f, "threads waited %s for disks, %s of all time that is not idle",
		     human_ns(a, (double)disk_ns), human_ratio(a, ratio_of(disk_ns, busy_ns)));
	finding_line(f, "most   %s in %s waits, the longest %s: %s",
		     human_ns(a, (double)worst->sleep_ns), human_count_u64(a, worst->count),
		     human_ns(a, (double)worst->max_ns), wait_cause_name(worst->cause));
	finding_line(f, "in     %s < %s", view_where(a, v->waits, worst->kernel, 3),
		     view_where(a, v->waits, worst->user, WHERE));
	finding_proof(f, "state D and wchan in /proc/PID/task/*/; /proc/diskstats");
	finding_next(f, "perfbox triage --use");
	out_finding(out, f);
}

static void tell_note(struct out *out, struct finding *f)
{
	if (window.output == OUTPUT_TABLES)
		out_finding(out, f);
	else
		out_note(out, "%s: %s: %s%s%s", f->kind->id, f->subject, f->text,
			 f->next ? "; next: " : "", f->next ? f->next : "");
}

static void find_lost(struct out *out, const struct view *v)
{
	const struct waits *w = v->waits;
	struct arena *a = out_arena(out);
	const uint64_t lost_ns = waits_count(w, "lost_stack_ns") + waits_count(w, "lost_row_ns");
	const uint64_t lost = waits_count(w, "lost_stacks") + waits_count(w, "lost_rows");

	if (!lost)
		return;
	if ((double)lost_ns < LOST_SHARE * (double)v->total_ns) {
		out_line(out, "lost", "%s stacks or rows, %s of waiting",
			 human_count_u64(a, lost), human_ns(a, (double)lost_ns));
		return;
	}
	struct finding *f = finding_start(a, offcpu_findings, "offcpu.lost-stacks", STATE_NOTE,
					  "stacks");
	const uint64_t had = is_na_u64(window.storage) ? 262144 : window.storage;

	finding_u64(f, "lost_ns", lost_ns);
	finding_u64(f, "lost_stacks", waits_count(w, "lost_stacks"));
	finding_u64(f, "lost_rows", waits_count(w, "lost_rows"));
	finding_f64(f, "share_ratio", ratio_of(lost_ns, v->total_ns));
	finding_line(f, "%s times there was no room: %s of waiting (%s) lacks its stack, or is "
		     "left out", human_count_u64(a, lost), human_ns(a, (double)lost_ns),
		     human_ratio(a, ratio_of(lost_ns, v->total_ns)));
	finding_next(f, "perfbox offcpu --stack-storage %llu", (unsigned long long)had * 4);
	tell_note(out, f);
}

struct object_time {
	const char *name;
	uint64_t ns;
};

static int by_time(const void *a, const void *b)
{
	const struct object_time *x = a, *y = b;

	return x->ns != y->ns ? (x->ns > y->ns ? -1 : 1) : strcmp(x->name, y->name);
}

/* Where stacks end that should go on. */
static uint64_t sum_cut(const struct view *v, struct object_time **objects, size_t *count,
			uint64_t *user_ns)
{
	const struct waits *w = v->waits;
	struct hash known = { 0 };
	uint64_t cut_ns = 0;
	size_t cap = 0;

	for (size_t i = 0; i < v->count; i++) {
		const struct wait_group *g = &v->groups[i];
		const struct wait_stack *s = &w->stacks[g->user];

		*user_ns += g->is_kernel ? 0 : g->total_ns;
		if (!g->user || !s->is_cut)
			continue;
		cut_ns += g->total_ns;
		const char *object = s->count ? w->frames[s->frames[s->count - 1]].object : NULL;

		object = object ? object : "[unknown]";
		void **slot = hash_name(&known, object);

		if (!*slot) {
			*objects = mem_grow(*objects, &cap, *count + 1, sizeof(**objects));
			(*objects)[(*count)++] = (struct object_time){ object, 0 };
			*slot = (void *)(uintptr_t)*count;
		}
		(*objects)[(uintptr_t)*slot - 1].ns += g->total_ns;
	}
	hash_free(&known);
	return cut_ns;
}

static void find_cut(struct out *out, const struct view *v)
{
	struct arena *a = out_arena(out);
	struct object_time *objects = NULL;
	uint64_t user_ns = 0;
	size_t count = 0;
	const uint64_t cut_ns = sum_cut(v, &objects, &count, &user_ns);

	if (cut_ns && (double)cut_ns >= CUT_SHARE * (double)user_ns) {
		struct finding *f = finding_start(a, offcpu_findings, "offcpu.no-frame-pointers",
						  STATE_NOTE, "user stacks");

		qsort(objects, count, sizeof(*objects), by_time);
		finding_u64(f, "cut_ns", cut_ns);
		finding_f64(f, "share_ratio", ratio_of(cut_ns, user_ns));
		finding_line(f, "%s of user threads' waiting has stacks that end early: code "
			     "without frame pointers", human_ratio(a, ratio_of(cut_ns, user_ns)));
		for (size_t i = 0; i < count && i < OBJECTS_SHOWN; i++)
			finding_line(f, "in     %s: %s",
				     redact_name(a, NAME_COMMAND, objects[i].name),
				     human_ns(a, (double)objects[i].ns));
		tell_note(out, f);
	}
	free(objects);
}

void window_findings(struct out *out, const struct view *v)
{
	/* on CPUs, too: a busy host that waits little is not one that waits for disks */
	const uint64_t busy_ns = v->busy_ns - v->resting_ns +
				 waits_count(v->waits, "running_ns");

	if (window.output == OUTPUT_TABLES) {
		find_locks(out, v, busy_ns);
		find_disk(out, v, busy_ns);
	}
	find_lost(out, v);
	find_cut(out, v);
}
