#include "common/base/topk.h"

#include "tests/unit/check.h"

static struct topk_key key(uint64_t n)
{
	struct topk_key k = { { 0 } };

	k.words[n % TOPK_KEY_WORDS] = n;
	return k;
}

static struct topk_item *add(struct topk *t, uint64_t n)
{
	struct topk_key k = key(n);

	return topk_add(t, &k);
}

static const struct topk_item *get(const struct topk *t, uint64_t n)
{
	struct topk_key k = key(n);

	return topk_find(t, &k);
}

static void test_exact(void)
{
	struct topk t;

	topk_start(&t, 1000);
	CHECK(!get(&t, 1) && t.count == 0);
	for (uint64_t n = 1; n <= 1000; n++)
		for (uint64_t i = 0; i < n % 7 + 1; i++)
			add(&t, n)->sums[0] += n;
	CHECK(t.count == 1000 && t.is_exact && topk_error(&t) == 0);
	for (uint64_t n = 1; n <= 1000; n++)
		if (!CHECK(get(&t, n) && get(&t, n)->count == n % 7 + 1 &&
			   get(&t, n)->sums[0] == n * (n % 7 + 1)))
			break;
	topk_reset(&t);
	CHECK(t.count == 0 && t.total == 0 && !get(&t, 5));
	add(&t, 5);
	CHECK(get(&t, 5)->count == 1 && get(&t, 5)->sums[0] == 0 && t.total == 1);
	topk_free(&t);
}

/* What space-saving promises, against counts kept aside. */
static void test_bound(void)
{
	enum { KEYS = 3000, LIMIT = 100, STREAM = 60000 };
	static uint64_t truth[KEYS];
	uint64_t random = 88172645463325252ull, total = 0;
	struct topk t;

	topk_start(&t, LIMIT);
	for (int i = 0; i < STREAM; i++) {
		random ^= random << 13, random ^= random >> 7, random ^= random << 17;
		/* a few keys are frequent, many are rare */
		uint64_t n = random % 3 ? random / 3 % 20 + 1 : random / 3 % (KEYS - 1) + 1;

		truth[n]++;
		total++;
		add(&t, n);
	}
	CHECK(t.total == STREAM && t.count == LIMIT && !t.is_exact);
	CHECK(topk_error(&t) <= STREAM / LIMIT && topk_error(&t) > 0);
	uint64_t counted = 0;

	for (size_t i = 0; i < t.count; i++)
		counted += t.items[i].count;
	CHECK(counted == total);
	for (uint64_t n = 1; n < KEYS; n++) {
		const struct topk_item *item = get(&t, n);

		if (truth[n] > STREAM / LIMIT)
			CHECK(item != NULL);
		if (item)
			CHECK(item->count >= truth[n] && item->count - item->error <= truth[n]);
	}
	topk_free(&t);
}

/* Each key new: the worst case, and the one counter. */
static void test_all_new(void)
{
	struct topk t;

	topk_start(&t, 64);
	for (uint64_t n = 1; n <= 64 * 50; n++)
		add(&t, n);
	CHECK(t.count == 64 && topk_error(&t) == 49);
	topk_free(&t);
	topk_start(&t, 1);
	for (uint64_t n = 1; n <= 10; n++)
		CHECK(add(&t, n)->error == n - 1 && get(&t, n) && !get(&t, n - 1 ? n - 1 : 99));
	topk_free(&t);
}

int main(void)
{
	test_exact();
	test_bound();
	test_all_new();
	return check_done("topk");
}
