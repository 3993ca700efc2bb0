#include "common/stack/fold.h"

#include <errno.h>
#include <stdlib.h>

#include "common/base/buf.h"
#include "common/base/fail.h"
#include "common/base/scan.h"
#include "tests/unit/check.h"

/* The node of frames parted by |. */
static uint32_t node_of(struct fold *f, const char *frames)
{
	struct scan s = scan_of(text_of(frames));
	struct text frame;
	uint32_t node = FOLD_ROOT;

	while (scan_until(&s, '|', &frame))
		node = fold_child(f, node, frame);
	return fold_child(f, node, scan_rest(&s));
}

static const char *written(const struct fold *f, bool two_sides)
{
	static char *text;
	size_t len;

	free(text);
	FILE *to = open_memstream(&text, &len);

	CHECK(to && fold_write(f, two_sides, to) == 0 && fclose(to) == 0);
	return text;
}

static void test_sharing(void)
{
	struct fold *f = fold_new();
	const uint32_t b = node_of(f, "a|b"), c = node_of(f, "a|b|c"), other = node_of(f, "x|b");

	CHECK(fold_count(f) == 6);      /* root, a, a|b, a|b|c, x, x|b */
	CHECK(node_of(f, "a|b") == b && node_of(f, "a|b|c") == c && fold_count(f) == 6);
	CHECK(fold_parent(f, c) == b && b != other);
	CHECK(fold_name_of(f, b) == fold_name_of(f, other));
	CHECK(fold_name(f, TEXT("b")) == fold_name_of(f, b));
	CHECK(fold_child_of(f, fold_parent(f, b), fold_name(f, TEXT("b"))) == b);
	CHECK(text_is(fold_text(f, c), "c") && text_is(fold_name_text(f, fold_name_of(f, c)), "c"));
	CHECK(fold_parent(f, fold_parent(f, b)) == FOLD_ROOT);
	CHECK(fold_stacks(f) == 0);
	CHECK_STR(written(f, false), "");
	fold_add(f, c, 0, 2);
	fold_add(f, b, 0, 1);
	fold_add(f, c, 0, 3);
	CHECK(fold_stacks(f) == 2 && fold_weight(f, c, 0) == 5 && fold_weight(f, c, 1) == 0);
	CHECK_STR(written(f, false), "a;b 1\na;b;c 5\n");
	fold_free(f);
	fold_free(NULL);
}

/* Names that differ in one byte anywhere, in length only, and that hold any byte. */
static void test_names(void)
{
	struct fold *f = fold_new();
	char name[70];
	uint32_t count = 1;

	for (size_t len = 0; len < sizeof(name); len++) {
		memset(name, 'n', sizeof(name));
		CHECK(fold_name(f, (struct text){ name, len }) == count++);
		for (size_t i = 0; i < len; i++) {
			name[i] = '\0';
			const uint32_t got = fold_name(f, (struct text){ name, len });

			if (got != count++ || fold_name_text(f, got).len != len ||
			    memcmp(fold_name_text(f, got).data, name, len) != 0)
				CHECK(!"a name of its own");
			name[i] = 'n';
		}
	}
	CHECK(fold_name(f, (struct text){ NULL, 0 }) == 1);
	CHECK(fold_name(f, (struct text){ name, 5 }) == fold_name(f, TEXT("nnnnn")));
	fold_free(f);
}

static void test_long_name(void)
{
	struct fold *f = fold_new();
	char *name = malloc(FOLD_FRAME_MAX + 2);

	memset(name, 'n', FOLD_FRAME_MAX + 2);
	const uint32_t longest = fold_name(f, (struct text){ name, FOLD_FRAME_MAX });

	CHECK(fold_name(f, (struct text){ name, FOLD_FRAME_MAX + 2 }) == longest);
	CHECK(fold_name_text(f, longest).len == FOLD_FRAME_MAX);
	CHECK(fold_name(f, (struct text){ name, FOLD_FRAME_MAX - 1 }) != longest);
	fold_free(f);
	free(name);
}

static void test_weights(void)
{
	struct fold *f = fold_new();
	const uint32_t a = node_of(f, "a"), b = node_of(f, "b"), c = node_of(f, "c");

	fold_add(f, a, 0, UINT64_MAX - 1);
	fold_add(f, a, 0, 1);
	CHECK(fold_weight(f, a, 0) == UINT64_MAX);
	fold_add(f, a, 0, 1);
	fold_add_part(f, a, 0, 0.75);
	CHECK(fold_weight(f, a, 0) == UINT64_MAX);
	for (int i = 0; i < 3; i++)
		fold_add_part(f, b, 0, 0.5);
	CHECK(fold_weight(f, b, 0) == 2);       /* 1.5 */
	fold_add(f, b, 0, 4);
	CHECK(fold_weight(f, b, 0) == 6);
	fold_add_part(f, c, 0, 0.25);
	CHECK(fold_weight(f, c, 0) == 0 && fold_stacks(f) == 2);
	fold_add_part(f, c, 1, 0.5);
	CHECK(fold_weight(f, c, 1) == 1 && fold_stacks(f) == 3);
	CHECK_STR(written(f, false), "a 18446744073709551615\nb 6\n");
	CHECK_STR(written(f, true), "a 18446744073709551615 0\nb 6 0\nc 0 1\n");

	/* nodes that come after the weights have none, on either side */
	for (int i = 0; i < 5000; i++) {
		char name[16];
		const int len = snprintf(name, sizeof(name), "%d", i);
		const uint32_t node = fold_child(f, b, (struct text){ name, (size_t)len });

		if (fold_weight(f, node, 0) || fold_weight(f, node, 1))
			CHECK(!"a new node weighs nothing");
	}
	CHECK(fold_weight(f, b, 0) == 6 && fold_weight(f, c, 1) == 1);
	fold_free(f);
}

static void test_limits(void)
{
	struct fold *f = fold_new();

	fold_limit(f, 3, 8);
	const uint32_t a = fold_child(f, FOLD_ROOT, TEXT("aaaa"));
	const uint32_t b = fold_child(f, a, TEXT("bbb"));

	CHECK(a == 1 && b == 2);
	CHECK(fold_child(f, b, TEXT("aaaa")) == FOLD_FULL);     /* a node too many */
	CHECK(fold_name(f, TEXT("cc")) == FOLD_FULL);           /* a byte too many */
	CHECK(fold_name(f, TEXT("c")) != FOLD_FULL);
	CHECK(fold_child(f, FOLD_ROOT, TEXT("dd")) == FOLD_FULL);
	CHECK(fold_child(f, FOLD_ROOT, TEXT("aaaa")) == a && fold_child(f, a, TEXT("bbb")) == b);
	CHECK(fold_child(f, FOLD_FULL, TEXT("aaaa")) == FOLD_FULL);
	CHECK(fold_child_of(f, FOLD_FULL, 1) == FOLD_FULL);
	CHECK(fold_child_of(f, a, FOLD_FULL) == FOLD_FULL);
	fold_add(f, FOLD_FULL, 0, 5);
	fold_add_part(f, FOLD_FULL, 0, 0.5);
	fold_add(f, b, 0, 5);
	CHECK(fold_count(f) == 3);
	CHECK_STR(written(f, false), "aaaa;bbb 5\n");
	fold_free(f);
}

static void test_escapes(void)
{
	struct fold *f = fold_new();
	struct buf b = { 0 };

	fold_escape(&b, (struct text){ "a;b\n\t\0\x7f\xff \xc3\xa9", 11 });
	CHECK_STR(b.data, "a:b\\x0a\\x09\\x00\\x7f\xff \xc3\xa9");
	buf_reset(&b);
	fold_escape(&b, TEXT(""));
	CHECK(b.len == 0);
	buf_free(&b);

	fold_add(f, node_of(f, "# no comment"), 0, 1);
	fold_add(f, node_of(f, "//anon|# x"), 0, 2);
	fold_add(f, node_of(f, "/usr/bin/x"), 0, 3);
	fold_add(f, node_of(f, "x;y|\r\n"), 0, 4);
	CHECK_STR(written(f, false), "\\x23 no comment 1\n\\x2f/anon;# x 2\n"
		  "/usr/bin/x 3\nx:y;\\x0d\\x0a 4\n");
	fold_free(f);
}

static void test_order(void)
{
	static const char *const stacks[] = {
		"b", "a|b", "a|a", "a", "\xff", "", "aa", "a b", "a|", "a|a|z", "ab", "A", "a|ab",
		"\x01",
	};
	struct fold *f = fold_new();
	struct fold_order o;

	for (size_t i = 0; i < sizeof(stacks) / sizeof(stacks[0]); i++)
		fold_add(f, node_of(f, stacks[i]), 0, i + 1);
	CHECK_STR(written(f, false), " 6\n\\x01 14\nA 12\na 4\na; 9\na;a 3\na;a;z 10\n"
		  "a;ab 13\na;b 2\na b 8\naa 7\nab 11\nb 1\n\xff 5\n");

	/* of three nodes alone */
	const uint32_t some[] = { node_of(f, "b"), node_of(f, "a"), node_of(f, "a|ab") };

	fold_order_of(f, some, 3, &o);
	CHECK(o.link[FOLD_ROOT].first == some[1] && o.link[some[1]].next == some[0] &&
	      !o.link[some[0]].next);
	CHECK(o.link[some[1]].first == some[2] && !o.link[some[2]].next &&
	      !o.link[some[2]].first);
	fold_order_free(&o);
	CHECK(!o.link);
	fold_order_of(f, some, 0, &o);
	CHECK(!o.link[FOLD_ROOT].first);
	fold_order_free(&o);
	fold_free(f);
	f = fold_new();
	fold_order_make(f, &o);
	CHECK(!o.link[FOLD_ROOT].first);
	fold_order_free(&o);
	fold_free(f);
}

/* Many random stacks against a plain list of their texts and sums. */
#define STACKS 700
static void test_against_list(void)
{
	static char texts[STACKS][32];
	static uint64_t sums[STACKS];
	struct fold *f = fold_new();
	size_t count = 0, lines = 0;
	uint32_t random = 1;

	for (size_t i = 0; i < 20000; i++) {
		char text[32];
		uint32_t node = FOLD_ROOT;
		size_t len = 0, known = 0;

		do {
			random = random * 1664525u + 1013904223u;
			text[len++] = (char)('a' + (random >> 28) % 3);
			node = fold_child(f, node, (struct text){ text + len - 1, 1 });
			text[len++] = ';';
		} while (random >> 26 & 3 && len < 10);
		text[len - 1] = '\0';
		fold_add(f, node, 0, random >> 20 & 7);
		while (known < count && strcmp(texts[known], text) != 0)
			known++;
		if (known == count && count < STACKS)
			memcpy(texts[count++], text, sizeof(text));
		sums[known] += random >> 20 & 7;
	}
	CHECK(count == 363);            /* 3 + 9 + 27 + 81 + 243 */
	struct scan s = scan_of(text_of(written(f, false)));
	struct text line, stack;

	for (uint64_t weight; scan_line(&s, &line); lines++) {
		struct scan l = scan_of(line);
		size_t known = 0;

		CHECK(scan_until(&l, ' ', &stack) && scan_u64(&l, &weight) && l.at == l.end);
		while (known < count && !text_is(stack, texts[known]))
			known++;
		CHECK(known < count && sums[known] == weight);
	}
	CHECK(lines == fold_stacks(f) && lines == count);
	for (uint32_t i = 1; i < fold_count(f); i++)
		if (fold_parent(f, i) >= i)
			CHECK(!"a parent's number is lower");
	CHECK(fold_memory(f) > fold_count(f) * 16 && fold_memory(f) < 1000000);
	fold_free(f);
}

/* Wide and deep: each path leads to the same node again. */
static void test_many(void)
{
	enum { WIDE = 30000, DEEP = 3000 };
	struct fold *f = fold_new();
	uint32_t *nodes = malloc(WIDE * sizeof(*nodes)), node = FOLD_ROOT;
	const uint32_t top = fold_child(f, FOLD_ROOT, TEXT("top"));
	char name[16];
	bool is_same = true;

	for (int i = 0; i < WIDE; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		nodes[i] = fold_child(f, top, text_of(name));
		fold_child(f, nodes[i], TEXT("leaf"));
	}
	for (int i = WIDE; i-- > 0;) {
		snprintf(name, sizeof(name), "n%d", i);
		is_same &= fold_child(f, top, text_of(name)) == nodes[i];
		is_same &= fold_parent(f, nodes[i]) == top && text_is(fold_text(f, nodes[i]), name);
	}
	CHECK(is_same && fold_count(f) == 2 + 2 * WIDE);
	for (int i = 0; i < DEEP; i++)
		node = fold_child(f, node, TEXT("r"));
	fold_add(f, node, 0, 1);
	CHECK(strlen(written(f, false)) == 2 * DEEP + 2);
	fold_free(f);
	free(nodes);
}

static void test_full_disk(void)
{
	FILE *full = fopen("/dev/full", "w");
	struct fold *f = fold_new();
	char name[9000];

	memset(name, 'n', sizeof(name));
	fold_add(f, fold_child(f, FOLD_ROOT, (struct text){ name, sizeof(name) }), 0, 1);
	if (full) {
		CHECK(fold_write(f, false, full) == -ENOSPC);
		CHECK(strstr(fail_text(), "folded stacks"));
		fclose(full);
	} else {
		check_skip("full disk", "no /dev/full");
	}
	fold_free(f);
}

int main(void)
{
	test_sharing();
	test_names();
	test_long_name();
	test_weights();
	test_limits();
	test_escapes();
	test_order();
	test_against_list();
	test_many();
	test_full_disk();
	return check_done("fold");
}
