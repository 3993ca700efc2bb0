/*
 * Beliefs from texts of anybody's making: the same bytes as command line, environment, options
 * file, release file, hsperfdata and smaps. Sums must add up, and no verdict comes of nothing.
 */
#include "common/kernel/belief.h"

#include <math.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct arena arena;

static bool read_input(void *arg, struct text name, struct text *content)
{
	(void)name;
	*content = *(const struct text *)arg;
	return content->len % 2;
}

static void believe(const struct belief_options *o, const struct belief_perfdata *perfdata)
{
	const struct belief_measured m = { 300u << 20, 100u << 20, perfdata };
	const struct belief_measured none = { NA_U64, NA_U64, NULL };
	struct belief b;

	for (int version = 0; version <= 2; version++) {
		const struct belief_view v = {
			.host_bytes = (uint64_t)8 << 30, .cgroup_version = version,
			.own_limit_bytes = 512u << 20, .least_limit_bytes = 256u << 20,
			.allowed_cpus = 4, .own_quota_cpus = 1.5, .least_quota_cpus = INFINITY,
			.shares = 2048, .has_weight = version == 2, .threads = 20,
		};

		belief_make(&arena, o, &v, version ? &m : &none, &b);
		if (b.need_bytes != NA_U64 && b.need_bytes != b.heap_bytes + b.nonheap_bytes)
			abort();
		if ((b.heap_bytes != NA_U64) != (b.heap_source != NULL))
			abort();
		if (b.is_heap_asked && b.sees_host)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const programs[] = { "java", "/usr/bin/node", "/srv/app" };
	struct text t = { (const char *)data, size };
	const struct belief_files files = { read_input, &t };
	struct belief_argfile argfile = { t, NULL };
	struct belief_perfdata perfdata;
	struct belief_options o;
	struct text word;
	bool is_other;
	bool has_perfdata = belief_parse_perfdata(t, &perfdata) == 0;

	for (size_t i = 0; i < 3; i++) {
		struct belief_texts texts = { .cmdline = t, .exe = text_of(programs[i]) };

		belief_parse_release(t, &texts.version, &is_other);
		belief_parse_options(&arena, &texts, &files, &o);
		believe(&o, has_perfdata ? &perfdata : NULL);
		texts.environ = t;
		belief_parse_options(&arena, &texts, NULL, &o);
		believe(&o, NULL);
		if (has_perfdata)
			texts.jvm_arguments = perfdata.arguments;
		belief_parse_options(&arena, &texts, NULL, &o);
		believe(&o, NULL);
	}
	for (size_t n = 0; belief_next_argument(&arena, &argfile, &word); n++)
		if (n > size)
			abort();
	belief_parse_node_header(t, &o.version);
	belief_heap_resident(t, 64u << 20);
	arena_reset(&arena);
	return 0;
}
