/* Records in order of time: stable, by rounds, and early where too much waits. */
#include "common/stack/perforder.h"

#include "check.h"

static uint64_t random_state = 88172645463325252u;

static uint64_t next_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	return random_state ^= random_state << 17;
}

/* Takes all that is ready; false: out of order, or of the same time and not as they were added. */
static bool drain(struct perforder *o, size_t *count, struct perforder_entry *last)
{
	struct perforder_entry e;
	bool is_sorted = true;

	while (perforder_next(o, &e)) {
		if (e.time < last->time || (e.time == last->time && e.offset < last->offset))
			is_sorted = false;
		*last = e;
		++*count;
	}
	return is_sorted;
}

static void test_random(unsigned buffers, uint64_t spread)
{
	struct perforder o = { 0 };
	struct perforder_entry last = { 0 };
	uint64_t offset = 0, now = 1000;
	size_t count = 0;
	bool is_sorted = true;

	for (unsigned round = 0; round < 50; round++) {
		/* each buffer's own are in order, but for what `spread` does to them */
		for (unsigned b = 0; b < buffers; b++)
			for (uint64_t i = 0; i < 40; i++)
				perforder_add(&o, (struct perforder_entry){
					.time = now + i * 2 + next_random() % spread,
					.offset = ++offset }, 100);
		now += 100 + spread;
		perforder_round(&o);
		is_sorted = drain(&o, &count, &last) && is_sorted;
		CHECK(round < 2 || count > 0);
		CHECK(o.waiting_count <= 2 * 40u * buffers);
	}
	perforder_finish(&o);
	is_sorted = drain(&o, &count, &last) && is_sorted;
	CHECK(is_sorted && count == offset && o.late == 0);
	perforder_free(&o);
}

static void test_worst(void)
{
	struct perforder o = { 0 };
	struct perforder_entry last = { 0 };
	size_t count = 0;

	for (uint64_t i = 0; i < 10000; i++)
		perforder_add(&o, (struct perforder_entry){ .time = 10000 - i, .offset = i }, 8);
	perforder_finish(&o);
	CHECK(drain(&o, &count, &last) && count == 10000);
	perforder_finish(&o);
	CHECK(drain(&o, &count, &last) && count == 10000);
	perforder_free(&o);
}

static void test_half(void)
{
	struct perforder o = { 0 };
	struct perforder_entry e, last = { 0 };
	size_t count = 0;

	perforder_flush_half(&o);
	CHECK(!perforder_next(&o, &e));
	for (uint64_t i = 0; i < 100; i++)
		perforder_add(&o, (struct perforder_entry){ .time = 100 + i / 2, .offset = i },
			      PERFORDER_BYTES_MAX / 64);
	CHECK(perforder_is_full(&o));
	perforder_flush_half(&o);
	CHECK(drain(&o, &count, &last) && count == 50 && o.is_overfull && !perforder_is_full(&o));
	/* what should have come before is counted */
	perforder_add(&o, (struct perforder_entry){ .time = 5, .offset = 1000 }, 8);
	CHECK(o.late == 1);
	perforder_finish(&o);
	CHECK(perforder_next(&o, &e) && e.time == 5);
	CHECK(drain(&o, &count, &last) && count == 100);
	perforder_free(&o);
}

int main(void)
{
	for (unsigned buffers = 1; buffers <= 5; buffers++)
		for (uint64_t spread = 1; spread < 200; spread *= 5)
			test_random(buffers, spread);
	test_worst();
	test_half();
	return check_done("perforder");
}
