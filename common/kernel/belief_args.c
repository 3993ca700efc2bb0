/* Options of a JVM: words of a command line, an environment variable or a file, and flags. */
#include <stddef.h>

#include "common/base/scan.h"
#include "common/kernel/belief.h"

/* ---- words ---- */

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
}

static bool is_line_end(char c)
{
	return c == '\n' || c == '\r';
}

/* Behind a backslash in quotes; at the end of a line it joins the next one, blanks passed over. */
static const char *take_escape(const char *p, const char *end, char **to)
{
	static const char names[] = "nrtf", values[] = "\n\r\t\f";
	const char *name = strchr(names, *p);

	if (!is_line_end(*p)) {
		*(*to)++ = name && *name ? values[name - names] : *p;
		return p + 1;
	}
	while (p < end && is_space(*p))
		p++;
	return p;
}

bool belief_next_argument(struct arena *arena, struct belief_argfile *file, struct text *word)
{
	const char *p = file->rest.data, *end = p + file->rest.len;
	char quote = 0;

	for (;;) {
		while (p < end && is_space(*p))
			p++;
		if (p == end || *p != '#')
			break;
		while (p < end && !is_line_end(*p))
			p++;
	}
	if (p == end)
		return false;
	/* words are not longer than the text they come from */
	if (!file->room)
		file->room = arena_alloc(arena, (size_t)(end - p) + 1);
	char *to = file->room;

	while (p < end && !is_line_end(*p) && (quote || !is_space(*p))) {
		char c = *p++;

		if (quote && c == '\\' && p < end)
			p = take_escape(p, end, &to);
		else if (quote ? c == quote : c == '\'' || c == '"')
			quote = quote ? 0 : c;
		else
			*to++ = c;
	}
	*word = (struct text){ file->room, (size_t)(to - file->room) };
	file->room = to;
	file->rest = (struct text){ p, (size_t)(end - p) };
	return true;
}

struct text belief_environ(struct text environ, const char *name)
{
	size_t n = strlen(name);
	struct text found = { NULL, 0 }, word;
	struct scan s = scan_of(environ.data ? environ : (struct text){ "", 0 });

	/* the first one wins, as for getenv */
	while (!found.data && scan_until(&s, '\0', &word))
		if (word.len > n && !memcmp(word.data, name, n) && word.data[n] == '=')
			found = (struct text){ word.data + n + 1, word.len - n - 1 };
	return found;
}

/* ---- numbers ---- */

/* Arguments::parse_memory_size: digits and one of k, m, g, t. */
bool belief_parse_size(struct text t, uint64_t *bytes)
{
	struct scan s = scan_of(t);
	uint64_t n;
	bool is_hex = scan_literal(&s, "0x") || scan_literal(&s, "0X");

	if (!t.len || t.data[0] == ' ' || t.data[0] == '\t')
		return false;
	if (!(is_hex ? scan_hex(&s, &n) : scan_u64(&s, &n)))
		return false;
	unsigned shift = 0;

	if (s.end - s.at == 1) {
		static const char suffixes[] = "kmgt";
		const char *at = strchr(suffixes, *s.at | 0x20);

		if (!at || !*at)
			return false;
		shift = 10 * (unsigned)(at - suffixes + 1);
	} else if (s.at != s.end) {
		return false;
	}
	if (shift && n >> (64 - shift))
		return false;
	*bytes = n << shift;
	return *bytes < MEMCG_NONE;
}

/* ---- flags ---- */

enum flag_kind { FLAG_SIZE, FLAG_KIB, FLAG_NUMBER, FLAG_PERCENT };

static const struct flag {
	const char *prefix;
	enum flag_kind kind;
	size_t offset;
	bool is_heap;                  /* remember how it was typed */
} flags_known[] = {
#define AT(field) offsetof(struct jvm_flags, field)
	{ "-Xmx", FLAG_SIZE, AT(max_heap_bytes), true },
	{ "-mx", FLAG_SIZE, AT(max_heap_bytes), true },
	{ "-XX:MaxHeapSize=", FLAG_SIZE, AT(max_heap_bytes), true },
	{ "-Xms", FLAG_SIZE, AT(initial_heap_bytes), false },
	{ "-ms", FLAG_SIZE, AT(initial_heap_bytes), false },
	{ "-XX:InitialHeapSize=", FLAG_SIZE, AT(initial_heap_bytes), false },
	{ "-XX:MaxRAM=", FLAG_SIZE, AT(max_ram_bytes), false },
	{ "-XX:MaxRAMPercentage=", FLAG_PERCENT, AT(max_percent), false },
	{ "-XX:MinRAMPercentage=", FLAG_PERCENT, AT(min_percent), false },
	{ "-XX:InitialRAMPercentage=", FLAG_PERCENT, AT(initial_percent), false },
	{ "-XX:MaxRAMFraction=", FLAG_NUMBER, AT(max_fraction), false },
	{ "-XX:MinRAMFraction=", FLAG_NUMBER, AT(min_fraction), false },
	{ "-XX:InitialRAMFraction=", FLAG_NUMBER, AT(initial_fraction), false },
	{ "-XX:MaxDirectMemorySize=", FLAG_SIZE, AT(direct_bytes), false },
	{ "-XX:ReservedCodeCacheSize=", FLAG_SIZE, AT(code_cache_bytes), false },
	{ "-XX:MaxMetaspaceSize=", FLAG_SIZE, AT(metaspace_bytes), false },
	{ "-Xss", FLAG_SIZE, AT(stack_bytes), false },
	{ "-ss", FLAG_SIZE, AT(stack_bytes), false },
	{ "-XX:ThreadStackSize=", FLAG_KIB, AT(stack_bytes), false },
	{ "-XX:ActiveProcessorCount=", FLAG_NUMBER, AT(cpus), false },
#undef AT
};

void belief_jvm_flags_start(struct jvm_flags *flags)
{
	*flags = (struct jvm_flags){
		.uses_container = -1, .max_percent = NA_F64, .min_percent = NA_F64,
		.initial_percent = NA_F64,
	};
	for (size_t i = 0; i < sizeof(flags_known) / sizeof(flags_known[0]); i++)
		if (flags_known[i].kind != FLAG_PERCENT)
			memset((char *)flags + flags_known[i].offset, 0xff, sizeof(uint64_t));
}

static bool parse_flag(const struct flag *flag, struct text value, void *to)
{
	uint64_t n;
	double percent;

	if (flag->kind == FLAG_PERCENT) {
		if (!scan_all_decimal(value, &percent) || percent > 100)
			return false;
		memcpy(to, &percent, sizeof(percent));
		return true;
	}
	if (!belief_parse_size(value, &n))
		return false;
	if (flag->kind == FLAG_KIB && n >= MEMCG_NONE >> 10)
		return false;
	if (flag->kind == FLAG_KIB)
		n <<= 10;
	memcpy(to, &n, sizeof(n));
	return true;
}

static bool set_switch(struct text option, struct jvm_flags *flags)
{
	if (text_is(option, "-XX:+UseContainerSupport"))
		flags->uses_container = 1;
	else if (text_is(option, "-XX:-UseContainerSupport"))
		flags->uses_container = 0;
	else if (text_is(option, "-XX:+UseCGroupMemoryLimitForHeap"))
		flags->uses_cgroup_limit = true;
	else if (text_is(option, "-XX:-UseCGroupMemoryLimitForHeap"))
		flags->uses_cgroup_limit = false;
	else if (text_is(option, "-XX:-TieredCompilation") || text_is(option, "-Xint"))
		flags->has_one_tier = true;
	else
		return false;
	return true;
}

bool belief_jvm_flag(struct text option, struct jvm_flags *flags)
{
	for (size_t i = 0; i < sizeof(flags_known) / sizeof(flags_known[0]); i++) {
		const struct flag *flag = &flags_known[i];
		size_t n = strlen(flag->prefix);

		if (!text_starts(option, flag->prefix))
			continue;
		/* one that makes no sense ends a real JVM at its start */
		if (!parse_flag(flag, (struct text){ option.data + n, option.len - n },
				(char *)flags + flag->offset))
			return false;
		if (flag->is_heap) {
			size_t keep = option.len < BELIEF_OPTION_MAX ? option.len
								     : BELIEF_OPTION_MAX - 1;

			memset(flags->heap_option, 0, sizeof(flags->heap_option));
			memcpy(flags->heap_option, option.data, keep);
			/* what an unread file said before is overruled */
			flags->is_incomplete = false;
		}
		return true;
	}
	return set_switch(option, flags);
}
