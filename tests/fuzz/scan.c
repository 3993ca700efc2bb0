/* Every scan over any bytes: never past the end, moved only by success. */
#include "common/base/scan.h"

#include <assert.h>
#include <errno.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* One scan chosen by `which`; whether it succeeded. */
static bool scan_something(struct scan *s, uint8_t which)
{
	struct text t = { s->at, 0 };
	uint64_t u;
	int64_t i;
	double d;

	switch (which % 9) {
	case 0:
		return scan_line(s, &t);
	case 1:
		return scan_word(s, &t) && t.len;
	case 2:
		return scan_until(s, (char)(which / 9), &t);
	case 3:
		return scan_u64(s, &u);
	case 4:
		return scan_i64(s, &i);
	case 5:
		return scan_hex(s, &u);
	case 6:
		return scan_decimal(s, &d) && d >= 0;
	case 7:
		return scan_literal(s, which & 1 ? "k" : "nr_throttled");
	default:
		return scan_skip_words(s, which / 9 % 4 + 1);
	}
}

static void scan_all_of_it(struct text t)
{
	struct scan s = scan_of(t);
	struct text line, word;
	size_t seen = 0;

	while (scan_line(&s, &line)) {
		struct scan words = scan_of(line);

		seen += line.len + 1;
		assert(!memchr(line.data, '\n', line.len));
		while (scan_word(&words, &word))
			assert(word.len && word.data >= line.data &&
			       word.data + word.len <= line.data + line.len);
	}
	assert(seen == t.len || seen == t.len + 1);
}

static void add_cpu(unsigned cpu, void *arg)
{
	unsigned *count = arg;

	assert(cpu < 4096);
	(*count)++;
}

static void check_whole(struct text t)
{
	struct text value;
	uint64_t u;
	double d;
	unsigned cpus = 0;

	if (scan_all_u64(t, &u))
		assert(scan_all_decimal(t, &d));
	if (scan_find_key(t, "VmRSS", &value))
		assert(value.data >= t.data && value.data + value.len <= t.data + t.len);
	scan_key_u64(t, "nr_throttled", &u);
	int n = scan_cpu_list(t, 4096, t.len < 4096 ? add_cpu : NULL, &cpus);

	assert(n == -EINVAL || t.len >= 4096 || (unsigned)n == cpus);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct text t = { (const char *)data, size };
	struct scan s = scan_of(t);

	for (size_t i = 0; i < size && i < 4096; i++) {
		const struct scan before = s;
		bool moved = scan_something(&s, data[i]);

		assert(s.end == before.end && s.at >= before.at && s.at <= s.end);
		assert(moved || s.at == before.at);
		scan_blanks(&s);
	}
	scan_all_of_it(t);
	check_whole(t);
	return 0;
}
