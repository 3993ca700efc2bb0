/*
 * Between two looks: the queues of the listeners that the last look found, sampled every few
 * milliseconds, and, of a listener where somebody waited every time, what its processes do.
 */
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "applets/listenq/listenq.h"
#include "common/kernel/source.h"

/* All polls together may take one part in so many of the time: with many namespaces there are
 * fewer. */
#define POLL_SHARE_MAX 50

/* So many polls somebody must have waited before the processes are looked at. */
#define STUCK_POLLS 3

/* One listener of listenq.now; the same index. */
struct watch {
	struct acceptq_queue sums;
	uint64_t queue, limit;         /* in this poll */
	bool is_seen;                  /* in this poll */
	uint64_t near_run;             /* polls running up to this one */
	bool is_tried;                 /* its processes were looked for */
};

static struct watch *watches;
static size_t watch_count, watch_cap;
static uint64_t poll_count, cost_ns;

void polls_start(const struct look *look)
{
	watches = mem_grow(watches, &watch_cap, look->count, sizeof(*watches));
	watch_count = look->count;
	poll_count = cost_ns = 0;
	for (size_t i = 0; i < look->count; i++)
		watches[i] = (struct watch){
			.sums = { .netns = look->spaces[look->listeners[i].space].ns.inode,
				  .cookie = look->listeners[i].sock.cookie },
		};
	pools_start();
}

static void see(uint64_t netns, uint64_t cookie, uint64_t queue, uint64_t limit)
{
	const struct listener *l = listener_find(listenq.now, netns, cookie);
	struct watch *w = l ? &watches[l - listenq.now->listeners] : NULL;

	if (!w || queue == NA_U64 || limit == NA_U64)
		return;
	w->is_seen = true;
	w->queue = queue;
	w->limit = limit;
	w->sums.polls++;
	w->sums.waiting += queue > 0;
	w->sums.over += queue > limit;
	if (queue > w->sums.max)
		w->sums.max = queue;
	w->near_run = (double)queue >= NEARLY_FULL * (double)limit && queue ? w->near_run + 1 : 0;
	if (w->near_run > w->sums.near_run)
		w->sums.near_run = w->near_run;
}

static void see_tcp(const struct sock *s, void *arg)
{
	see(*(const uint64_t *)arg, s->cookie, s->receive_queue, s->send_queue);
}

static void see_unix(const struct unix_sock *s, void *arg)
{
	see(*(const uint64_t *)arg, s->cookie, s->receive_queue, s->send_queue);
}

/* What can't be had is not counted: a listener's polls tell how often it was seen. */
static void sample_space(const struct space *s)
{
	struct sockdiag_query q = { .protocol = IPPROTO_TCP, .ipv4 = true, .ipv6 = true,
				    .states = SOCK_BIT(SOCK_LISTEN) };
	struct sockdiag_result result = { 0 };
	uint64_t netns = s->ns.inode;

	if (!s->has_diag || !(s->listeners + s->unix_listeners) || netns_enter(&s->ns) < 0)
		return;
	if (s->listeners)
		sockdiag_each(&q, see_tcp, &netns, &result);
	if (s->unix_listeners)
		sockdiag_each_unix(SOCK_BIT(SOCK_LISTEN), see_unix, &netns, &result);
	netns_leave();
}

static double fill(const struct watch *w)
{
	return (double)w->queue / (double)(w->limit ? w->limit : 1);
}

static int by_fill(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The median of the other members' fill; NA_F64 if one of them was not seen. */
static double siblings_fill(const struct place *p, size_t but, double *fills)
{
	size_t n = 0;

	for (size_t i = p->first; i < p->first + p->count; i++) {
		if (!watches[i].is_seen)
			return NA_F64;
		if (i != but)
			fills[n++] = fill(&watches[i]);
	}
	qsort(fills, n, sizeof(*fills), by_fill);
	return n % 2 ? fills[n / 2] : (fills[n / 2 - 1] + fills[n / 2]) / 2;
}

static void compare_members(const struct place *p)
{
	double *fills = arena_alloc(src_arena(), p->count * sizeof(*fills));

	for (size_t i = p->first; i < p->first + p->count; i++)
		if (watches[i].is_seen && watches[i].queue && fill(&watches[i]) >= STALLED_FULL &&
		    siblings_fill(p, i, fills) <= STALLED_OTHERS)
			watches[i].sums.stalled++;
}

static void sample_queues(const struct look *look)
{
	for (size_t i = 0; i < watch_count; i++)
		watches[i].is_seen = false;
	for (size_t i = 0; i < look->space_count; i++)
		sample_space(&look->spaces[i]);
	for (size_t i = 0; i < look->place_count; i++)
		if (look->places[i].count > 1)
			compare_members(&look->places[i]);
}

/* Somebody waited at the look and in every poll since: what do the processes do? Finding them
 * costs as much as many polls, so it is done once. */
static void watch_stuck(const struct look *look)
{
	for (size_t i = 0; i < watch_count; i++) {
		struct watch *w = &watches[i];
		uint64_t at_look = look->listeners[i].sock.receive_queue;

		if (w->is_tried || !at_look || at_look == NA_U64 || w->sums.waiting != poll_count)
			continue;
		w->is_tried = true;
		pools_watch(look, &look->listeners[i]);
	}
}

/* CPU time: that another had the CPU is no cost of ours. */
static uint64_t used_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void sample(const struct look *look)
{
	src_sample_begin();
	sample_queues(look);
	pools_sample();
	src_sample_end();
	poll_count++;
}

uint64_t polls_sample(void)
{
	const struct look *look = listenq.now;
	uint64_t start_ns = used_ns();

	if (!look || !look->count)
		return 0;
	sample(look);
	uint64_t took_ns = used_ns() - start_ns;

	if (poll_count >= STUCK_POLLS)
		watch_stuck(look);
	cost_ns += used_ns() - start_ns;
	/* finding processes is done once and is no reason to sample less */
	return took_ns * POLL_SHARE_MAX > listenq.poll_ns ? took_ns * POLL_SHARE_MAX :
		listenq.poll_ns;
}

int polls_read(struct look *look)
{
	struct arena *a = src_arena();
	struct acceptq sums = { .polls = poll_count, .cost_ns = cost_ns };

	sums.queues = arena_alloc(a, (watch_count + 1) * sizeof(*sums.queues));
	for (size_t i = 0; i < watch_count; i++)
		if (watches[i].sums.polls)
			sums.queues[sums.queue_count++] = watches[i].sums;
	pools_collect(&sums);
	int err = acceptq_read(&sums, &look->polls);

	if (err < 0)
		look->polls = (struct acceptq){ 0 };
	for (size_t i = 0; err >= 0 && i < look->polls.queue_count; i++) {
		const struct acceptq_queue *q = &look->polls.queues[i];
		struct listener *l = listener_find(look, q->netns, q->cookie);

		if (l)
			l->polled = *q;
	}
	return err;
}

void polls_free(void)
{
	free(watches);
	watches = NULL;
	watch_count = watch_cap = 0;
	pools_free();
}
