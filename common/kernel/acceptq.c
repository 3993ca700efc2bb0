#include "common/kernel/acceptq.h"

#include <errno.h>

#include "common/base/scan.h"
#include "common/kernel/source.h"

#define FIELDS_MAX 11
#define LINE_LEAST 20                  /* bytes of the shortest queue or worker line */

static void write_line(struct buf *to, const char *word, const uint64_t *fields, size_t n)
{
	buf_add_text(to, word);
	for (size_t i = 0; i < n; i++)
		if (fields[i] == NA_U64)
			buf_add_text(to, " -");
		else
			buf_printf(to, " %llu", (unsigned long long)fields[i]);
	buf_add_char(to, '\n');
}

void acceptq_write(const struct acceptq *q, struct buf *to)
{
	write_line(to, "polls", (uint64_t[]){ q->polls, q->cost_ns }, 2);
	for (size_t i = 0; i < q->queue_count; i++) {
		const struct acceptq_queue *s = &q->queues[i];

		write_line(to, "queue",
			   (uint64_t[]){ s->netns, s->cookie, s->polls, s->max, s->waiting, s->over,
					 s->near_run, s->stalled },
			   8);
	}
	for (size_t i = 0; i < q->worker_count; i++) {
		const struct acceptq_worker *w = &q->workers[i];

		write_line(to, "worker",
			   (uint64_t[]){ w->netns, w->cookie, w->pid, w->parent, w->polls,
					 w->accepting, w->listening, w->span_ns, w->ran_ns,
					 w->queued_ns, w->throttled_ns },
			   11);
	}
	buf_add_text(to, "end\n");
}

static bool scan_field(struct scan *s, uint64_t *value)
{
	struct text word;

	if (!scan_word(s, &word))
		return false;
	*value = NA_U64;
	return text_is(word, "-") || scan_all_u64(word, value);
}

static bool scan_fields(struct text line, const char *word, uint64_t *fields, size_t n)
{
	struct scan s = scan_of(line);
	struct text first;

	if (!scan_word(&s, &first) || !text_is(first, word))
		return false;
	for (size_t i = 0; i < n; i++)
		if (!scan_field(&s, &fields[i]))
			return false;
	return !scan_rest(&s).len;
}

static struct acceptq_queue queue_of(const uint64_t *f)
{
	return (struct acceptq_queue){ f[0], f[1], f[2], f[3], f[4], f[5], f[6], f[7] };
}

static struct acceptq_worker worker_of(const uint64_t *f)
{
	return (struct acceptq_worker){ f[0], f[1], f[2], f[3], f[4], f[5],
					f[6], f[7], f[8], f[9], f[10] };
}

int acceptq_parse(struct text t, struct arena *arena, struct acceptq *q)
{
	size_t room = t.len / LINE_LEAST + 1, lines = 1;
	struct acceptq got = { .queues = arena_alloc(arena, room * sizeof(*got.queues)),
			       .workers = arena_alloc(arena, room * sizeof(*got.workers)) };
	struct scan s = scan_of(t);
	uint64_t f[FIELDS_MAX];
	struct text line;

	if (!scan_until(&s, '\n', &line) || !scan_fields(line, "polls", f, 2))
		return fail(EINVAL, "acceptq polls: line 1 is garbled or missing");
	got.polls = f[0];
	got.cost_ns = f[1];
	for (; scan_until(&s, '\n', &line); lines++) {
		if (text_is(line, "end")) {
			*q = got;
			return 0;
		}
		bool is_short = line.len < LINE_LEAST;

		if (!is_short && scan_fields(line, "queue", f, 8))
			got.queues[got.queue_count++] = queue_of(f);
		else if (!is_short && scan_fields(line, "worker", f, 11))
			got.workers[got.worker_count++] = worker_of(f);
		else
			break;
	}
	return fail(EINVAL, "acceptq polls: line %zu is garbled or missing", lines + 1);
}

static int fetch(void *arg, struct buf *reply)
{
	acceptq_write(arg, reply);
	return 0;
}

int acceptq_read(const struct acceptq *now, struct acceptq *q)
{
	struct text reply;
	int err = src_call("acceptq polls", fetch, (void *)(uintptr_t)now, &reply);

	return err < 0 ? err : acceptq_parse(reply, src_arena(), q);
}
