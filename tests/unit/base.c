/* base: memory, buffers, hashing and scanning, on good, cut and hostile input. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "common/base/buf.h"
#include "common/base/hash.h"
#include "common/base/mem.h"
#include "common/base/na.h"
#include "common/base/scan.h"
#include "tests/unit/check.h"

static void check_fail(void)
{
	CHECK(fail(EINVAL, "line %d", 3) == -EINVAL);
	CHECK_STR(fail_text(), "line 3");
	CHECK(fail(EIO, "outer: %s", fail_text()) == -EIO);
	CHECK_STR(fail_text(), "outer: line 3");
	CHECK(fail_errno(ENOENT, "x") == -ENOENT);
	CHECK_STR(fail_text(), "x: No such file or directory");
	char big[5000];

	memset(big, 'a', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	fail_errno(ENOENT, "%s", big);
	CHECK(strlen(fail_text()) > 500 && strlen(fail_text()) < sizeof(big));
}

static void check_mem(void)
{
	size_t cap = 0;
	uint32_t *items = NULL;

	for (uint32_t i = 0; i < 10000; i++) {
		items = mem_grow(items, &cap, i + 1, sizeof(*items));
		CHECK(items[i] == 0 && cap > i);
		items[i] = i;
	}
	CHECK(items[0] == 0 && items[9999] == 9999);
	free(items);
	CHECK(!mem_strdup(NULL));
	char *copy = mem_strdup("ab");

	CHECK_STR(copy, "ab");
	free(copy);
}

static void check_arena(void)
{
	struct arena a = { 0 };

	arena_reset(&a);
	for (int frame = 0; frame < 3; frame++) {
		for (size_t n = 0; n < 2000; n++) {
			unsigned char *p = arena_alloc(&a, n);

			CHECK((uintptr_t)p % _Alignof(max_align_t) == 0);
			for (size_t i = 0; i < n; i += 97)
				CHECK(p[i] == 0);
			memset(p, 0xaa, n);
		}
		arena_reset(&a);
	}
	char *big = arena_alloc(&a, 1000000);

	memset(big, 1, 1000000);
	CHECK_STR(arena_printf(&a, "%s-%d", "x", 5), "x-5");
	CHECK_STR(arena_copy(&a, "abc", 2), "ab");
	CHECK_STR(arena_copy(&a, NULL, 0), "");
	CHECK(!arena_strdup(&a, NULL));
	arena_free(&a);
	arena_free(&a);
}

static void check_buf(void)
{
	struct buf b = { 0 };

	CHECK(buf_text(&b).len == 0 && buf_text(&b).data[0] == '\0');
	buf_add(&b, "", 0);
	CHECK_STR(b.data, "");
	for (int i = 0; i < 1000; i++)
		buf_printf(&b, "%d,", i);
	CHECK(b.len == 10 * 2 + 90 * 3 + 900 * 4 && b.data[b.len] == '\0');
	CHECK(!memcmp(b.data + b.len - 4, "999,", 4));
	buf_reset(&b);
	CHECK_STR(b.data, "");
	buf_add(&b, "a\0b", 3);
	buf_add_char(&b, 'c');
	buf_add_text(&b, "d");
	CHECK(b.len == 5 && !memcmp(b.data, "a\0bcd", 6));
	buf_free(&b);
	CHECK(!b.data && !b.len && !b.cap);
}

static void check_hash(void)
{
	struct hash h = { 0 };
	static char names[5000][16];
	int value;

	CHECK(!hash_find_number(&h, 1) && !hash_find_name(&h, "1"));
	for (size_t i = 0; i < 5000; i++) {
		snprintf(names[i], sizeof(names[i]), "name%zu", i);
		*hash_number(&h, i << 32) = names[i];
		*hash_name(&h, names[i]) = &names[i][1];
	}
	CHECK(h.used == 10000);
	for (size_t i = 0; i < 5000; i++) {
		char other[16];

		snprintf(other, sizeof(other), "name%zu", i);
		CHECK(hash_find_number(&h, i << 32) == names[i]);
		CHECK(hash_find_name(&h, other) == &names[i][1]);
	}
	CHECK(!hash_find_name(&h, "name") && !hash_find_number(&h, 7));
	CHECK(!*hash_number(&h, UINT64_MAX));
	*hash_number(&h, UINT64_MAX) = &value;
	CHECK(hash_find_number(&h, UINT64_MAX) == &value);
	hash_reset(&h);
	CHECK(!hash_find_name(&h, "name1") && h.used == 0);
	hash_free(&h);
	CHECK(hash_bytes("a", 1) != hash_bytes("b", 1));
	CHECK(hash_keyed(1, "a", 1) != hash_keyed(2, "a", 1));
	CHECK(hash_keyed(1, "a", 1) == hash_keyed(1, "a", 1));
}

static void check_lines_and_words(void)
{
	struct scan s = scan_of(TEXT("a b\n\n  c\td \nlast"));
	struct text line, word;

	CHECK(scan_line(&s, &line) && text_is(line, "a b"));
	CHECK(scan_line(&s, &line) && line.len == 0);
	CHECK(scan_line(&s, &line) && text_is(line, "  c\td "));
	struct scan words = scan_of(line);

	CHECK(scan_word(&words, &word) && text_is(word, "c"));
	CHECK(scan_word(&words, &word) && text_is(word, "d"));
	CHECK(!scan_word(&words, &word) && text_is(word, "d"));
	CHECK(scan_line(&s, &line) && text_is(line, "last"));
	CHECK(!scan_line(&s, &line));
	s = scan_of(TEXT("a b c"));
	CHECK(scan_skip_words(&s, 2) && scan_word(&s, &word) && text_is(word, "c"));
	s = scan_of(TEXT("a b"));
	CHECK(!scan_skip_words(&s, 3) && text_is(scan_rest(&s), "a b"));
	s = scan_of(TEXT("comm) S 1"));
	CHECK(scan_until(&s, ')', &word) && text_is(word, "comm") &&
	      text_is(scan_rest(&s), " S 1"));
	CHECK(!scan_until(&s, ')', &word) && text_is(scan_rest(&s), " S 1"));
	CHECK(scan_literal(&s, " S") && !scan_literal(&s, " 1 and more"));
	s = scan_of(TEXT("\0\0\n\0"));
	CHECK(scan_line(&s, &line) && line.len == 2);
	CHECK(scan_line(&s, &line) && line.len == 1);
}

static void check_numbers(void)
{
	uint64_t u = 7;
	int64_t i = 7;
	double d = 7;
	struct scan s = scan_of(TEXT(" 18446744073709551615 18446744073709551616"));

	CHECK(scan_u64(&s, &u) && u == UINT64_MAX);
	CHECK(!scan_u64(&s, &u) && text_is(scan_rest(&s), " 18446744073709551616"));
	s = scan_of(TEXT("-9223372036854775808 9223372036854775807 -9223372036854775809"));
	CHECK(scan_i64(&s, &i) && i == INT64_MIN);
	CHECK(scan_i64(&s, &i) && i == INT64_MAX);
	CHECK(!scan_i64(&s, &i) && i == INT64_MAX);
	s = scan_of(TEXT("- 5"));
	CHECK(!scan_i64(&s, &i));
	s = scan_of(TEXT("ffffFFFFffffFFFF 10000000000000000 x"));
	CHECK(scan_hex(&s, &u) && u == UINT64_MAX);
	CHECK(!scan_hex(&s, &u));
	s = scan_of(TEXT("12.25 3. .5"));
	CHECK(scan_decimal(&s, &d) && d == 12.25);
	CHECK(scan_decimal(&s, &d) && d == 3 && scan_literal(&s, "."));
	CHECK(!scan_decimal(&s, &d) && d == 3);
	/* what is cut off in the middle is a number or none, never read past */
	struct text cut = { "12345678", 3 };

	s = scan_of(cut);
	CHECK(scan_u64(&s, &u) && u == 123 && s.at == s.end);
	cut.len = 0;
	s = scan_of(cut);
	CHECK(!scan_u64(&s, &u) && !scan_i64(&s, &i) && !scan_hex(&s, &u) && !scan_decimal(&s, &d));
	CHECK(scan_all_u64(TEXT("42"), &u) && u == 42);
	CHECK(!scan_all_u64(TEXT("42x"), &u) && !scan_all_u64(TEXT(" 42"), &u) &&
	      !scan_all_u64(TEXT(""), &u));
	CHECK(!scan_all_u64(TEXT("-1"), &u) && !scan_all_u64(TEXT("4\0002"), &u));
	CHECK(scan_all_decimal(TEXT("0.5"), &d) && d == 0.5);
	CHECK(!scan_all_decimal(TEXT("0.5.5"), &d) && !scan_all_decimal(TEXT("1e5"), &d));
}

static void check_keys(void)
{
	struct text stat =
		TEXT("nr_periods 50\nnr_throttled_x 1\nnr_throttled\t49 \nName:\ta b\nVmRSS:   "
		     "12 kB\nend");
	struct text value = TEXT("before");
	uint64_t n = 7;

	CHECK(scan_key_u64(stat, "nr_throttled", &n) && n == 49);
	CHECK(scan_key_u64(stat, "VmRSS", &n) && n == 12);
	CHECK(scan_find_key(stat, "Name", &value) && text_is(value, "a b"));
	CHECK(!scan_key_u64(stat, "nr", &n) && !scan_key_u64(stat, "Name", &n) && n == 12);
	CHECK(!scan_find_key(stat, "missing", &value) && text_is(value, "a b"));
	CHECK(scan_find_key(stat, "end", &value) && value.len == 0);
	CHECK(!scan_find_key(TEXT(""), "x", &value));
}

static void count_cpu(unsigned cpu, void *arg)
{
	*(uint64_t *)arg |= UINT64_C(1) << cpu;
}

static void check_cpu_lists(void)
{
	uint64_t set = 0;

	CHECK(scan_cpu_list(TEXT("0-3,8\n"), 64, count_cpu, &set) == 5 && set == 0x10f);
	CHECK(scan_cpu_list(TEXT(""), 64, NULL, NULL) == 0);
	CHECK(scan_cpu_list(TEXT("\n"), 64, NULL, NULL) == 0);
	CHECK(scan_cpu_list(TEXT("3-1"), 64, NULL, NULL) == -EINVAL);
	CHECK(scan_cpu_list(TEXT("64"), 64, NULL, NULL) == -EINVAL);
	CHECK(scan_cpu_list(TEXT("0-"), 64, NULL, NULL) == -EINVAL);
	CHECK(scan_cpu_list(TEXT("0;1"), 64, NULL, NULL) == -EINVAL);
	CHECK(scan_cpu_list(TEXT("0-18446744073709551615"), 64, NULL, NULL) == -EINVAL);
}

static void check_unknown(void)
{
	CHECK(delta_u64(5, 3) == 2 && delta_u64(3, 5) == NA_U64);
	CHECK(delta_u64(NA_U64, 3) == NA_U64 && delta_u64(3, NA_U64) == NA_U64);
	CHECK(ratio_of(1, 2) == 0.5 && is_na_f64(ratio_of(1, 0)) && is_na_f64(ratio_of(NA_U64, 1)));
	CHECK(rate_of(10, 2000000000) == 5 && is_na_f64(rate_of(NA_U64, 1)) &&
	      is_na_f64(rate_of(1, 0)));
}

int main(void)
{
	check_fail();
	check_mem();
	check_arena();
	check_buf();
	check_hash();
	check_lines_and_words();
	check_numbers();
	check_keys();
	check_cpu_lists();
	check_unknown();
	return check_done("base");
}
