/* Sums of polls: written, read back, cut, garbled. */
#include "common/kernel/acceptq.h"

#include <errno.h>

#include "common/base/fail.h"
#include "tests/unit/check.h"
#include "tests/unit/cut.h"

static struct arena arena;

static const char recorded[] =
	"polls 49 8134211\n"
	"queue 4026532246 12289 49 9 49 48 49 0\n"
	"queue 4026532246 12290 49 0 0 0 0 0\n"
	"worker 4026532246 12289 2207 1 46 0 0 941000000 120000 33000 -\n"
	"worker 4026532246 12289 2208 - 46 3 43 941000000 - - 0\n"
	"end\n";

static bool is_untouched(const char *reply)
{
	struct acceptq q = { .polls = 77 };

	return acceptq_parse(text_of(reply), &arena, &q) == -EINVAL && q.polls == 77 &&
		!q.queues && strstr(fail_text(), "acceptq polls: line");
}

static void check_recorded(void)
{
	struct acceptq q = { 0 };

	CHECK(acceptq_parse(text_of(recorded), &arena, &q) == 0);
	CHECK(q.polls == 49 && q.cost_ns == 8134211 && q.queue_count == 2 && q.worker_count == 2);
	CHECK(q.queues[0].netns == 4026532246 && q.queues[0].cookie == 12289);
	CHECK(q.queues[0].polls == 49 && q.queues[0].max == 9 && q.queues[0].waiting == 49);
	CHECK(q.queues[0].over == 48 && q.queues[0].near_run == 49 && q.queues[0].stalled == 0);
	CHECK(q.queues[1].cookie == 12290 && q.queues[1].waiting == 0);
	CHECK(q.workers[0].pid == 2207 && q.workers[0].parent == 1 && q.workers[0].polls == 46);
	CHECK(q.workers[0].accepting == 0 && q.workers[0].listening == 0);
	CHECK(q.workers[0].span_ns == 941000000 && q.workers[0].ran_ns == 120000);
	CHECK(q.workers[0].queued_ns == 33000 && q.workers[0].throttled_ns == NA_U64);
	CHECK(q.workers[1].parent == NA_U64 && q.workers[1].accepting == 3);
	CHECK(q.workers[1].listening == 43 && q.workers[1].ran_ns == NA_U64);
	CHECK(q.workers[1].throttled_ns == 0);
}

static void check_written_again(void)
{
	struct acceptq q = { 0 };
	struct buf b = { 0 };

	CHECK(acceptq_parse(text_of(recorded), &arena, &q) == 0);
	acceptq_write(&q, &b);
	CHECK_STR(b.data, recorded);
	buf_reset(&b);
	q = (struct acceptq){ 0 };
	acceptq_write(&q, &b);
	CHECK_STR(b.data, "polls 0 0\nend\n");
	CHECK(acceptq_parse(buf_text(&b), &arena, &q) == 0 && !q.queue_count);
	buf_free(&b);
}

/* Whatever the cut, all of it or nothing. */
static void check_cut(void)
{
	const struct text whole = text_of(recorded);

	EACH_CUT(n, whole) {
		struct acceptq q = { .polls = 77 };
		const int err = acceptq_parse(cut(whole, n), &arena, &q);

		CHECK(n == whole.len ? !err : err == -EINVAL && q.polls == 77);
	}
}

static void check_hostile(void)
{
	CHECK(is_untouched(""));
	CHECK(is_untouched("\n"));
	CHECK(is_untouched("polls 1\nend\n"));
	CHECK(is_untouched("polls 1 2 3\nend\n"));
	CHECK(is_untouched("polls 1 -2\nend\n"));
	CHECK(is_untouched("polls 1 99999999999999999999\nend\n"));
	CHECK(is_untouched("polls 1 2\nqueue 1 2 3 4 5 6 7\nend\n"));
	CHECK(is_untouched("polls 1 2\nqueue 1 2 3 4 5 6 7 8 9\nend\n"));
	CHECK(is_untouched("polls 1 2\nqueue 1 2 3 4 5 6 7 x\nend\n"));
	CHECK(is_untouched("polls 1 2\nworker 1 2 3 4 5 6 7 8 9 10\nend\n"));
	CHECK(is_untouched("polls 1 2\nqueue\nend\n"));
	CHECK(is_untouched("polls 1 2\n\nend\n"));
	CHECK(is_untouched("polls 1 2\nq\nq\nq\nq\nq\nq\nq\nq\nq\nq\nq\nq\nq\nend\n"));
	CHECK(is_untouched("polls 1 2\nend"));
}

int main(void)
{
	check_recorded();
	check_written_again();
	check_cut();
	check_hostile();
	arena_free(&arena);
	return check_done("acceptq");
}
