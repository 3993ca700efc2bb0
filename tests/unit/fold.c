#include "common/stack/fold.h"

#include <stdlib.h>

#include "common/base/buf.h"
#include "tests/unit/check.h"

static char *text;

static const char *written(const struct fold *f, bool two)
{
	size_t len;
	FILE *to;

	free(text);
	text = NULL;
	to = open_memstream(&text, &len);
	CHECK(to && fold_write(f, two, to) == 0);
	fclose(to);
	return text;
}

static uint32_t add(struct fold *f, const char *frames, uint64_t weight)
{
	uint32_t node = FOLD_ROOT;

	for (const char *p = frames; *p; p++)
		node = fold_child(f, node, (struct text){ p, 1 });
	fold_add(f, node, 0, weight);
	return node;
}

static void test_tree(void)
{
	struct fold *f = fold_new();

	CHECK(fold_count(f) == 1 && fold_stacks(f) == 0);
	CHECK_STR(written(f, false), "");
	const uint32_t abc = add(f, "abc", 2), abd = add(f, "abd", 3), ab = add(f, "ab", 5);

	CHECK(add(f, "abc", 1) == abc && add(f, "abd", 1) == abd && add(f, "b", 4) != ab);
	CHECK(fold_parent(f, abc) == ab && fold_parent(f, abd) == ab && abc != abd);
	CHECK(text_is(fold_text(f, abd), "d") && fold_weight(f, abd, 0) == 4);
	CHECK(fold_count(f) == 6 && fold_stacks(f) == 4);
	CHECK_STR(written(f, false), "a;b 5\na;b;c 3\na;b;d 4\nb 4\n");
	fold_add(f, ab, 1, 7);
	CHECK_STR(written(f, true), "a;b 5 7\na;b;c 3 0\na;b;d 4 0\nb 4 0\n");
	fold_free(f);
}

/* Wide, deep and shuffled: each path leads to the same node again. */
static void test_many(void)
{
	enum { WIDE = 30000, DEEP = 3000 };
	struct fold *f = fold_new();
	uint32_t *nodes = malloc(WIDE * sizeof(*nodes)), node = FOLD_ROOT;
	char name[16];

	for (int i = 0; i < WIDE; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		nodes[i] = fold_child(f, fold_child(f, FOLD_ROOT, TEXT("top")), text_of(name));
		fold_child(f, nodes[i], TEXT("leaf"));
	}
	bool is_same = true;

	for (int i = WIDE; i-- > 0;) {
		snprintf(name, sizeof(name), "n%d", i);
		is_same &= fold_child(f, fold_child(f, FOLD_ROOT, TEXT("top")), text_of(name)) ==
			   nodes[i];
		is_same &= fold_parent(f, nodes[i]) == 1 && text_is(fold_text(f, nodes[i]), name);
	}
	CHECK(is_same && fold_count(f) == 2 + 2 * WIDE);
	for (int i = 0; i < DEEP; i++)
		node = fold_child(f, node, TEXT("r"));
	fold_add(f, node, 0, 1);
	CHECK(strlen(written(f, false)) == 2 * DEEP + 2);
	CHECK(fold_memory(f) > 0);
	fold_free(f);
	free(nodes);
}

static void test_weights(void)
{
	struct fold *f = fold_new();
	const uint32_t a = add(f, "a", UINT64_MAX), b = add(f, "b", 0);

	fold_add(f, a, 0, 1);
	CHECK(fold_weight(f, a, 0) == UINT64_MAX && fold_weight(f, a, 1) == 0);
	fold_add_part(f, b, 0, 0.25);
	CHECK(fold_weight(f, b, 0) == 0);
	fold_add_part(f, b, 0, 0.25);
	CHECK(fold_weight(f, b, 0) == 1);
	/* a limit that was reached stays reached, and harms nothing */
	CHECK(fold_child(f, FOLD_FULL, TEXT("x")) == FOLD_FULL);
	CHECK(fold_child_of(f, FOLD_ROOT, FOLD_FULL) == FOLD_FULL);
	fold_add(f, FOLD_FULL, 0, 1);
	fold_add_part(f, FOLD_FULL, 0, 0.5);
	fold_free(f);
	fold_free(NULL);
}

static void test_names(void)
{
	static char long_name[FOLD_FRAME_MAX + 100];
	struct fold *f = fold_new();
	struct buf b = { 0 };

	memset(long_name, 'x', sizeof(long_name));
	const uint32_t name = fold_name(f, (struct text){ long_name, sizeof(long_name) });

	CHECK(fold_name_text(f, name).len == FOLD_FRAME_MAX);
	CHECK(fold_name(f, TEXT("")) == fold_name(f, TEXT("")));
	CHECK(fold_name(f, TEXT("a\0b")) != fold_name(f, TEXT("a\0c")));
	CHECK(fold_name(f, TEXT("1234567")) != fold_name(f, TEXT("12345678")));
	fold_escape(&b, TEXT("a;b\nc\x7f\0\xff d"));
	CHECK_STR(buf_text(&b).data, "a:b\\x0ac\\x7f\\x00\xff d");
	buf_free(&b);
	fold_free(f);
}

int main(void)
{
	test_tree();
	test_many();
	test_weights();
	test_names();
	free(text);
	return check_done("fold");
}
