/* Any bytes as pieces of an answer: it ends, and what is handed over lies inside them. */
#include "common/kernel/netlink.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define DEPTH_MAX 8

static struct text whole;
static uint64_t messages;

static void check_inside(struct text t)
{
	if (t.len && (t.data < whole.data || t.data + t.len > whole.data + whole.len))
		abort();
}

static void walk(struct text attrs, int depth)
{
	struct netlink_attr a;
	size_t left = attrs.len;

	while (netlink_next(&attrs, &a)) {
		check_inside(a.data);
		check_inside(netlink_string(a.data));
		if (attrs.len >= left || a.data.len > left)
			abort();
		left = attrs.len;
		if ((netlink_be32(a.data) == NA_U64) != (a.data.len != 4) ||
		    (netlink_u16(a.data) == NA_U64) != (a.data.len != 2))
			abort();
		if (depth < DEPTH_MAX)
			walk(a.data, depth + 1);
	}
}

static void take(const struct netlink_message *m, void *arg)
{
	(void)arg;
	messages++;
	check_inside(m->body);
	walk(netlink_behind(m->body, m->type % 32), 0);
}

static void restart(void *arg)
{
	(void)arg;
	messages = 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct netlink_request request = { .key = "fuzz" };
	static const struct netlink_reader reader = { take, restart, NULL };
	struct netlink_exchange x = { .request = &request, .reader = &reader };
	const size_t half = size / 8 * 4;

	messages = 0;
	whole = (struct text){ (const char *)data, half };
	netlink_take(&x, whole);
	check_inside(x.words);
	if (x.err > 0)
		abort();
	whole = (struct text){ (const char *)data + half, size - half };
	x.words = (struct text){ "", 0 };
	netlink_take(&x, whole);
	check_inside(x.words);
	if (x.err > 0 || x.result.messages != messages || x.result.attempts < 1 ||
	    x.result.attempts > 2)
		abort();
	return 0;
}
