#include "common/kernel/belief.h"

#include <errno.h>
#include <math.h>

#include "common/base/buf.h"
#include "tests/unit/check.h"
#include "tests/unit/cut.h"

#define M ((uint64_t)1 << 20)
#define G ((uint64_t)1 << 30)

static struct arena arena;

/* Words with spaces between them, as /proc/PID/cmdline has them. */
static struct text words(const char *line)
{
	char *copy = arena_strdup(&arena, line);
	size_t n = strlen(copy) + 1;

	for (size_t i = 0; i < n; i++)
		if (copy[i] == ' ')
			copy[i] = '\0';
	return (struct text){ copy, n };
}

static bool read_known(void *arg, struct text name, struct text *content)
{
	const char *const *file = arg;

	for (; *file; file += 2)
		if (text_is(name, file[0])) {
			*content = text_of(file[1]);
			return true;
		}
	return false;
}

static struct belief_options asked(const char *version, const char *cmdline, const char *environ,
				   const char *const *known)
{
	static const char *const none[] = { NULL };
	const struct belief_files files = { read_known,
					    (void *)(uintptr_t)(known ? known : none) };
	struct belief_texts t = { .cmdline = words(cmdline) };
	struct belief_options o;

	if (environ)
		t.environ = words(environ);
	CHECK(!version || belief_parse_version(text_of(version), &t.version));
	belief_parse_options(&arena, &t, &files, &o);
	return o;
}

static const struct belief_view plain = {
	.host_bytes = 8 * G, .cgroup_version = 2, .own_limit_bytes = 512 * M,
	.least_limit_bytes = 512 * M, .allowed_cpus = 8, .own_quota_cpus = INFINITY,
	.least_quota_cpus = INFINITY, .shares = NA_U64, .threads = 20,
};
static const struct belief_measured unmeasured = { NA_U64, NA_U64, NULL };

static struct belief believed(const struct belief_options *o, const struct belief_view *v)
{
	struct belief b;

	belief_make(&arena, o, v, &unmeasured, &b);
	return b;
}

/* ---- versions ---- */

static bool version_is(const char *text, unsigned feature, unsigned update)
{
	struct belief_version v;

	return belief_parse_version(text_of(text), &v) && v.feature == feature &&
		v.update == update;
}

static void test_versions(void)
{
	struct belief_version v = { 1, 2 };
	bool is_other = false;
	const struct text release = TEXT("IMPLEMENTOR=\"Debian\"\nJAVA_VERSION=\"17.0.15\"\n"
					 "JAVA_VERSION_DATE=\"2025-04-15\"\n"
					 "JVM_VARIANT=\"Hotspot\"\n");

	CHECK(version_is("1.8.0_181", 8, 181) && version_is("1.8.0", 8, 0));
	CHECK(version_is("17.0.15+6-Debian", 17, 15) && version_is("17", 17, 0));
	CHECK(version_is("11.0.16.1", 11, 16) && version_is("22-ea", 22, 0));
	CHECK(version_is("9.0.4", 9, 4) && version_is("20.0.2", 20, 2));
	CHECK(!belief_parse_version(TEXT(""), &v) && !belief_parse_version(TEXT("x1"), &v));
	CHECK(!belief_parse_version(TEXT("0.10.48"), &v) && v.feature == 1);
	CHECK(!belief_parse_version(TEXT("99999999999.1"), &v));
	EACH_CUT(n, release) {
		v = (struct belief_version){ 0, 0 };
		bool is_known = belief_parse_release(cut(release, n), &v, &is_other);

		/* a closing quote ends it; before that nothing is said */
		CHECK(is_known == (n >= 43) && v.feature == (is_known ? 17 : 0) && !is_other);
	}
	CHECK(belief_parse_release(TEXT("JAVA_VERSION=\"1.8.0_345\"\nJVM_VARIANT=\"Openj9\"\n"), &v,
				   &is_other) && is_other && v.update == 345);
	CHECK(!belief_parse_release(TEXT("JAVA_VERSION_DATE=\"1.8\"\n"), &v, &is_other));
	CHECK(belief_parse_node_header(TEXT("#define NODE_MAJOR_VERSION 20\n#define "
					    "NODE_MINOR_VERSION 3\n#define NODE_PATCH_VERSION 1\n"),
				       &v) && v.feature == 20 && v.update == 3);
	CHECK(!belief_parse_node_header(TEXT("#define NODE_MAJOR_VERSION 20\n"), &v));
	CHECK_STR(belief_version_text(&arena, BELIEF_JVM, (struct belief_version){ 8, 181 }),
		  "8u181");
	CHECK_STR(belief_version_text(&arena, BELIEF_JVM, (struct belief_version){ 17, 5 }),
		  "17.0.5");
	CHECK_STR(belief_version_text(&arena, BELIEF_NODE, (struct belief_version){ 20, 3 }),
		  "20.3");
}

/* ---- words and flags ---- */

static void test_argfile(void)
{
	/* libjli/args.c's rules */
	static const char *const want[] = { "-Xmx1g", "a b", "it's", "tab\there", "joined up",
					    "-Dx=C:\\dir", "two", "last" };
	struct belief_argfile file = {
		TEXT("# a comment\n-Xmx1g 'a b' \"it's\"\n\"tab\\there\" \"joined \\\n   up\"\f"
		     "-Dx=C:\\dir \"two\n# more\r\nlast"), NULL };
	struct text word;
	size_t n = 0;

	while (belief_next_argument(&arena, &file, &word) && n < 8)
		CHECK(text_is(word, want[n])), n++;
	CHECK(n == 8);
	file = (struct belief_argfile){ TEXT("'open"), NULL };
	CHECK(belief_next_argument(&arena, &file, &word) && text_is(word, "open"));
	file = (struct belief_argfile){ TEXT("\"end\\"), NULL };
	CHECK(belief_next_argument(&arena, &file, &word) && text_is(word, "end\\"));
	file = (struct belief_argfile){ TEXT(" # only"), NULL };
	CHECK(!belief_next_argument(&arena, &file, &word));
}

static bool size_is(const char *text, uint64_t bytes)
{
	uint64_t n;

	return belief_parse_size(text_of(text), &n) && n == bytes;
}

static void test_sizes(void)
{
	uint64_t n = 7;

	CHECK(size_is("512m", 512 * M) && size_is("512M", 512 * M) && size_is("1g", G));
	CHECK(size_is("1048576", M) && size_is("1024k", M) && size_is("2T", 2048 * G));
	CHECK(size_is("0x100000", M) && size_is("0", 0));
	CHECK(!belief_parse_size(TEXT(""), &n) && !belief_parse_size(TEXT("m"), &n));
	CHECK(!belief_parse_size(TEXT("512mb"), &n) && !belief_parse_size(TEXT("-1"), &n));
	CHECK(!belief_parse_size(TEXT(" 1"), &n) && !belief_parse_size(TEXT("1x"), &n));
	CHECK(!belief_parse_size(TEXT("17179869184g"), &n) && n == 7);
	CHECK(!belief_parse_size(TEXT("18446744073709551615"), &n));
}

static void test_jvm_words(void)
{
	static const char *const files[] = {
		"opts", "-Xmx700m \"-Xss2m\" @again", "again", "-Xmx9g",
		"vm", "-XX:MaxMetaspaceSize=80m '-Xmx1g'", NULL,
	};
	struct belief_options o = asked("17.0.5", "java -Xmx100m -XX:MaxHeapSize=200m -cp a:b "
						  "-XX:ThreadStackSize=512 Main -Xmx9g", NULL,
					NULL);

	CHECK(o.kind == BELIEF_JVM && o.jvm.max_heap_bytes == 200 * M && !o.has_environment);
	CHECK_STR(o.jvm.heap_option, "-XX:MaxHeapSize=200m");
	CHECK(o.jvm.stack_bytes == 512 << 10 && o.jvm.initial_heap_bytes == NA_U64);
	/* what -jar names ends the options, what -cp names does not */
	o = asked("8u", "java", NULL, NULL);
	o = asked("1.8.0_181", "/bin/java -classpath -Xmx1m -Xmx2m -jar -Xmx3m x.jar -Xmx4m", NULL,
		  NULL);
	CHECK(o.jvm.max_heap_bytes == 3 * M);
	o = asked("17", "java @opts Main -Xmx5m", NULL, files);
	CHECK(o.jvm.max_heap_bytes == 700 * M && o.jvm.stack_bytes == 2 * M);
	CHECK(!o.jvm.is_incomplete);
	/* a file that can't be read could say anything, until a later word does */
	o = asked("17", "java @gone Main", NULL, files);
	CHECK(o.jvm.is_incomplete && believed(&o, &plain).heap_bytes == NA_U64);
	o = asked("17", "java @gone -Xmx64m Main", NULL, files);
	CHECK(!o.jvm.is_incomplete && believed(&o, &plain).heap_bytes == 64 * M);
	o = asked("17", "java --disable-@files @opts", NULL, files);
	CHECK(o.jvm.max_heap_bytes == NA_U64 && !o.jvm.is_incomplete);
	o = asked("17", "java -XX:VMOptionsFile=vm Main", NULL, files);
	CHECK(o.jvm.max_heap_bytes == G && o.jvm.metaspace_bytes == 80 * M);
	o = asked("1.8.0_372", "java @opts -Xmx5m", NULL, files);
	CHECK(o.jvm.max_heap_bytes == NA_U64);
	/* -m names a module, --module=x too */
	o = asked("17", "java -p mods -m app -Xmx5m", NULL, NULL);
	CHECK(o.jvm.max_heap_bytes == NA_U64);
	o = asked("17", "java --module=app -Xmx5m", NULL, NULL);
	CHECK(o.jvm.max_heap_bytes == NA_U64);
	/* no sense is none at all */
	o = asked("17", "java -Xmx512mb -XX:MaxRAMPercentage=120 -XX:MaxRAMPercentage=x", NULL,
		  NULL);
	CHECK(o.jvm.max_heap_bytes == NA_U64 && isnan(o.jvm.max_percent));
	o = asked(NULL, "python -Xmx1g", NULL, NULL);
	CHECK(o.kind == BELIEF_OTHER);
}

static void test_jvm_environment(void)
{
	const char *const tool = "JAVA_TOOL_OPTIONS=-Xmx1m";
	struct belief_options o = asked("17", "java Main", tool, NULL);

	CHECK(o.has_environment && o.jvm.max_heap_bytes == M);
	o = asked("17", "java -Xmx2m Main", tool, NULL);
	CHECK(o.jvm.max_heap_bytes == 2 * M);
	o = asked("17", "java -Xmx2m Main", "X=1 _JAVA_OPTIONS=-Xmx3m PATH=/", NULL);
	CHECK(o.jvm.max_heap_bytes == 3 * M);
	o = asked("17", "java Main", "JDK_JAVA_OPTIONS=-Xmx4m", NULL);
	CHECK(o.jvm.max_heap_bytes == 4 * M);
	o = asked("1.8.0_372", "java Main", "JDK_JAVA_OPTIONS=-Xmx4m", NULL);
	CHECK(o.jvm.max_heap_bytes == NA_U64);
	/* a name that only ends or begins alike, and a value without the end of its word */
	o = asked("17", "java Main", "MY_JAVA_TOOL_OPTIONS=-Xmx4m JAVA_TOOL_OPTIONSX=-Xmx5m", NULL);
	CHECK(o.jvm.max_heap_bytes == NA_U64);
	CHECK(!belief_environ(TEXT("A=1"), "A").data);
	CHECK(text_is(belief_environ(TEXT("A=1\0A=2\0"), "A"), "1"));
	CHECK(belief_environ(TEXT("A=\0"), "A").data && !belief_environ(TEXT("A\0"), "A").data);
	/* quotes hold blanks together */
	struct belief_texts t = { .cmdline = words("java Main"),
				  .environ = TEXT("JAVA_TOOL_OPTIONS=-Da='x -Xmx9g' "
						  "\"-Xmx6m\"\0") };

	belief_parse_options(&arena, &t, NULL, &o);
	CHECK(o.jvm.max_heap_bytes == 6 * M);
	/* what the JVM put together itself counts alone */
	t.jvm_arguments = TEXT("-Xmx7m -Dx=it's -XX:MaxDirectMemorySize=1m");
	belief_parse_options(&arena, &t, NULL, &o);
	CHECK(o.jvm.max_heap_bytes == 7 * M && o.jvm.direct_bytes == M && o.has_environment);
}

/* ---- what a JVM takes ---- */

#define HOST_QUARTER "a quarter of the host's 8G"
#define LIMIT_QUARTER "a quarter of the 512M limit"

struct jvm_case {
	const char *version, *cmdline;
	int cgroup;
	uint64_t own, least, host;     /* MiB; 0 no limit */
	uint64_t heap;                 /* MiB */
	const char *source;
	bool sees_host;
};

static void test_jvm_heaps(void)
{
	static const struct jvm_case cases[] = {
		/* the reference case, and the versions before and after each change */
		{ "1.8.0_181", "java M", 1, 512, 512, 8192, 2048, HOST_QUARTER, true },
		{ "1.8.0_191", "java M", 1, 512, 512, 8192, 128, LIMIT_QUARTER, false },
		{ "1.8.0_191", "java M", 2, 512, 512, 8192, 2048, HOST_QUARTER, true },
		{ "1.8.0_362", "java M", 2, 512, 512, 8192, 2048, HOST_QUARTER, true },
		{ "1.8.0_372", "java M", 2, 512, 512, 8192, 128, LIMIT_QUARTER, false },
		{ "9.0.4", "java M", 1, 512, 512, 8192, 2048, HOST_QUARTER, true },
		{ "10.0.1", "java M", 1, 512, 512, 8192, 128, LIMIT_QUARTER, false },
		{ "11.0.15", "java M", 2, 512, 512, 8192, 2048, HOST_QUARTER, true },
		{ "11.0.16", "java M", 2, 512, 512, 8192, 128, LIMIT_QUARTER, false },
		{ "14.0.2", "java M", 2, 512, 512, 8192, 2048, HOST_QUARTER, true },
		{ "17.0.5", "java M", 2, 512, 512, 8192, 128, LIMIT_QUARTER, false },
		/* a limit of the parent's alone: v1 tells, v2 has to be asked */
		{ "17.0.15", "java M", 1, 0, 512, 8192, 128, LIMIT_QUARTER, false },
		{ "17.0.15", "java M", 2, 0, 512, 8192, 2048, HOST_QUARTER, true },
		{ "21.0.8", "java M", 2, 0, 512, 8192, 2048, HOST_QUARTER, true },
		{ "21.0.9", "java M", 2, 0, 512, 8192, 128, LIMIT_QUARTER, false },
		{ "23.0.2", "java M", 2, 0, 512, 8192, 2048, HOST_QUARTER, true },
		{ "25.0.3", "java M", 2, 0, 512, 8192, 128, LIMIT_QUARTER, false },
		/* as JDK 17.0.15 and 25.0.3 do with these limits */
		{ "17", "java M", 2, 128, 128, 8192, 64, "half of the 128M limit", false },
		{ "17", "java M", 2, 200, 200, 8192, 100, "half of the 200M limit", false },
		{ "17", "java M", 2, 247, 247, 8192, 124, "half of the 247M limit", false },
		{ "17", "java M", 2, 256, 256, 8192, 126, "the least default", false },
		{ "17", "java M", 2, 500, 500, 8192, 126, "a quarter of the 500M limit",
		  false },
		{ "17", "java M", 2, 511, 511, 8192, 128, "a quarter of the 511M limit", false },
		{ "17", "java M", 2, 1024, 1024, 8192, 256, "a quarter of the 1G limit", false },
		{ "17", "java M", 2, 0, 0, 8192, 2048, HOST_QUARTER, true },
		{ "17", "java M", 2, 9000, 9000, 8192, 2048, HOST_QUARTER, true },
		{ "17", "java M", 0, 0, 0, 8192, 2048, HOST_QUARTER, true },
		/* 32178700288 bytes, to the next 2M: what 8u to 25 take on large hosts */
		{ "17", "java M", 2, 0, 0, 524288, 30688, "a quarter of the host's 512G, below 32G",
		  true },
		/* asked */
		{ "17", "java -XX:MaxRAMPercentage=75 M", 2, 512, 512, 8192, 384,
		  "MaxRAMPercentage=75 of the 512M limit", false },
		{ "17", "java -XX:MinRAMPercentage=80 M", 2, 128, 128, 8192, 104,
		  "MinRAMPercentage=80 of the 128M limit", false },
		{ "1.8.0_181", "java -XX:MaxRAMFraction=1 M", 1, 512, 512, 8192, 8192,
		  "MaxRAMFraction=1 of the host's 8G", true },
		{ "17", "java -XX:MaxRAM=1g M", 2, 512, 512, 8192, 256, "a quarter of MaxRAM=1G",
		  false },
		{ "17", "java -XX:-UseContainerSupport M", 2, 512, 512, 8192, 2048,
		  HOST_QUARTER, true },
		{ "1.8.0_181", "java -XX:+UseCGroupMemoryLimitForHeap M", 1, 512, 512, 8192, 128,
		  LIMIT_QUARTER, false },
		{ "1.8.0_121", "java -XX:+UseCGroupMemoryLimitForHeap M", 1, 512, 512, 8192, 2048,
		  HOST_QUARTER, true },
		{ "17", "java -Xms1g M", 2, 512, 512, 8192, 1024, "its initial size", false },
		{ "17", "java -Xmx512m M", 2, 512, 512, 8192, 512, "-Xmx512m", false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct jvm_case *c = &cases[i];
		struct belief_view v = plain;
		struct belief_options o = asked(c->version, c->cmdline, "A=1", NULL);

		v.cgroup_version = c->cgroup;
		v.own_limit_bytes = c->own ? c->own * M : MEMCG_NONE;
		v.least_limit_bytes = c->least ? c->least * M : MEMCG_NONE;
		v.host_bytes = c->host * M;
		struct belief b = believed(&o, &v);

		if (!CHECK(b.heap_bytes == c->heap * M && b.sees_host == c->sees_host &&
			   b.is_heap_sure) ||
		    !CHECK_STR(b.heap_source, c->source))
			printf("case %s %s: %llu\n", c->version, c->cmdline,
			       (unsigned long long)(b.heap_bytes / M));
	}
}

static void test_jvm_unknown(void)
{
	struct belief_view v = plain;
	struct belief_options o = asked(NULL, "java Main", "A=1", NULL);

	CHECK(believed(&o, &v).heap_bytes == NA_U64 && isnan(believed(&o, &v).cpus));
	o = asked("17", "java Main", NULL, NULL);
	CHECK(believed(&o, &v).heap_bytes == 128 * M && !believed(&o, &v).is_heap_sure);
	v.own_limit_bytes = NA_U64;
	CHECK(believed(&o, &v).heap_bytes == NA_U64);
	v = plain;
	v.host_bytes = NA_U64;
	CHECK(believed(&o, &v).heap_bytes == 128 * M);
	v.own_limit_bytes = MEMCG_NONE;
	CHECK(believed(&o, &v).heap_bytes == NA_U64);
	o.is_other_jvm = true;
	CHECK(believed(&o, &plain).heap_bytes == NA_U64);
	CHECK_STR(believed(&o, &plain).sum, NULL);
}

static void test_jvm_sum(void)
{
	struct belief_options o = asked("17", "java -Xmx512m -Xss512k -XX:MaxMetaspaceSize=40m "
					      "-XX:MaxDirectMemorySize=16m "
					      "-XX:ReservedCodeCacheSize=24m Main", NULL, NULL);
	struct belief b = believed(&o, &plain);

	CHECK_STR(b.sum, "heap 512M (-Xmx512m) + metaspace 40M + code cache 24M + 20 threads x "
			 "512K + direct 16M + the runtime 32M = 634M");
	CHECK(b.need_bytes == 634 * M && !b.is_nonheap_measured && b.is_heap_asked);
	/* it takes more than its heap, so 512M do not fit below 512M */
	CHECK(b.certain_bytes > 512 * M && b.certain_bytes <= 514 * M);
	CHECK_STR(belief_verdict(&b, 512 * M), "cannot fit");
	CHECK_STR(belief_verdict(&b, 520 * M), "tight");
	CHECK_STR(belief_verdict(&b, 1024 * M), "fits");
	CHECK_STR(belief_verdict(&b, MEMCG_NONE), NULL);
	CHECK_STR(belief_verdict(&b, NA_U64), NULL);
	b.is_heap_sure = false;
	CHECK_STR(belief_verdict(&b, 512 * M), NULL);

	const struct belief_measured m = { 300 * M, 200 * M, NULL };

	belief_make(&arena, &o, &plain, &m, &b);
	CHECK_STR(b.sum, "heap 512M (-Xmx512m) + measured non-heap 100M = 612M");
	CHECK(b.is_nonheap_measured && b.certain_bytes == 612 * M);

	struct belief_perfdata p = { 512 * M, 250 * M, 30 * M, 10 * M, { 17, 0 }, { NULL, 0 } };
	const struct belief_measured told = { 300 * M, NA_U64, &p };

	belief_make(&arena, &o, &plain, &told, &b);
	CHECK(b.certain_bytes == 562 * M && !b.is_nonheap_measured);
	/* what it says itself wins, and is explained only if it comes to the same */
	p.heap_max_bytes = 256 * M;
	belief_make(&arena, &o, &plain, &told, &b);
	CHECK(b.heap_bytes == 256 * M && !b.is_heap_asked && b.is_heap_sure);
	CHECK_STR(b.heap_source, "as its hsperfdata says");
}

static void test_jvm_cpus(void)
{
	struct belief_view v = plain;
	struct belief_options old = asked("17.0.4", "java M", "A=1", NULL);
	struct belief_options new = asked("17.0.5", "java M", "A=1", NULL);
	struct belief_options first = asked("1.8.0_181", "java M", "A=1", NULL);

	CHECK(believed(&new, &v).cpus == 8);
	v.own_quota_cpus = 1.5;
	CHECK(believed(&new, &v).cpus == 2 && believed(&first, &v).cpus == 8);
	v.own_quota_cpus = INFINITY;
	v.least_quota_cpus = 1.5;
	CHECK(believed(&new, &v).cpus == 8);
	v.cgroup_version = 1;
	v.shares = 51;
	CHECK(believed(&new, &v).cpus == 8 && believed(&old, &v).cpus == 1);
	v.shares = 1024;
	CHECK(believed(&old, &v).cpus == 8);
	v.cgroup_version = 2;
	v.has_weight = true;
	v.shares = 100;
	CHECK(believed(&old, &v).cpus == 8);
	v.shares = 79;                 /* what 2,048 shares become */
	CHECK(believed(&old, &v).cpus == 2);
	new = asked("17.0.5", "java -XX:ActiveProcessorCount=3 M", NULL, NULL);
	CHECK(believed(&new, &v).cpus == 3);
	v.allowed_cpus = 0;
	CHECK(isnan(believed(&old, &v).cpus));
}

/* ---- Node, Go, others ---- */

static struct belief node(const char *version, const char *cmdline, const char *environ, int cgroup,
			  uint64_t own_mib, uint64_t host_mib)
{
	char text[64] = "A=1";
	struct belief_view v = plain;

	if (version)
		snprintf(text, sizeof(text), "NODE_VERSION=%s", version);
	if (environ)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), " %s", environ);
	struct belief_options o = asked(NULL, cmdline, text, NULL);

	v.cgroup_version = cgroup;
	v.own_limit_bytes = own_mib ? own_mib * M : MEMCG_NONE;
	v.host_bytes = host_mib * M;
	CHECK(o.kind == BELIEF_NODE);
	return believed(&o, &v);
}

static void test_node(void)
{
	/* v8.getHeapStatistics().heap_size_limit of 20.20.2 with these limits */
	CHECK(node("20.20.2", "node a.js", NULL, 2, 128, 24104).heap_bytes == 259 * M);
	CHECK(node("20.20.2", "node a.js", NULL, 2, 512, 24104).heap_bytes == 259 * M);
	CHECK(node("20.20.2", "node a.js", NULL, 1, 1024, 24104).heap_bytes == 524 * M);
	CHECK(node("20.20.2", "node a.js", NULL, 2, 3000, 24104).heap_bytes == 1548 * M);
	CHECK(node("20.20.2", "node a.js", NULL, 2, 0, 24104).heap_bytes == 4144 * M);
	CHECK(node("20.20.2", "node a.js", NULL, 2, 0, 8192).heap_bytes == 2096 * M);
	CHECK(node(NULL, "node --max-old-space-size=512 a.js", NULL, 2, 512, 24104).heap_bytes ==
	      560 * M);
	CHECK(node(NULL, "node --max_old_space_size=1000 a.js", NULL, 2, 512, 24104).heap_bytes ==
	      1048 * M);
	/* 18 does not know v2, and who does not know is not said to see the host */
	struct belief b = node("18.17.0", "node a.js", NULL, 2, 512, 24104);

	CHECK(b.sees_host && b.heap_bytes == 4144 * M && b.why_host);
	CHECK(!node("18.17.0", "node a.js", NULL, 1, 512, 24104).sees_host);
	CHECK(node("18.18.0", "node a.js", NULL, 2, 512, 24104).heap_bytes == NA_U64);
	CHECK(node(NULL, "node a.js", NULL, 2, 512, 24104).heap_bytes == NA_U64);
	CHECK(node("10.24.1", "node a.js", NULL, 1, 512, 24104).heap_bytes == 1403 * M + 45 * M);
	/* a small limit's heap is V8's least, not the host's */
	CHECK(!node("20.20.2", "node a.js", NULL, 2, 128, 24104).sees_host);
	/* NODE_OPTIONS, then the command line; not the script's own words */
	CHECK(node(NULL, "node a.js", "NODE_OPTIONS=--max-old-space-size=100", 2, 0, 8192)
		      .heap_bytes == 148 * M);
	CHECK(node(NULL, "node --max-old-space-size=200 a.js",
		   "NODE_OPTIONS=--max-old-space-size=100", 2, 0, 8192).heap_bytes == 248 * M);
	CHECK(node(NULL, "node -r x --max-old-space-size=200 a.js --max-old-space-size=9", NULL, 2,
		   0, 8192).heap_bytes == 248 * M);
	b = node("24.1.0", "node --max-old-space-size-percentage=75 a.js", NULL, 2, 512, 24104);
	CHECK(b.heap_bytes == 384 * M + 12 * M && !b.sees_host);
	/* certainly no more than what was asked for the old ones */
	b = node(NULL, "node --max-old-space-size=512 a.js", NULL, 2, 550, 24104);
	CHECK(b.certain_bytes < 550 * M && b.need_bytes > 550 * M);

	/* a title where the words were */
	struct belief_texts t = { .cmdline = TEXT("node /srv/app.js\0"), .exe = TEXT("/n/bin/node"),
				  .environ = TEXT("NODE_VERSION=20.3.0\0") };
	struct belief_options o;

	belief_parse_options(&arena, &t, NULL, &o);
	CHECK(o.node.is_incomplete && believed(&o, &plain).heap_bytes == NA_U64);
	t.exe = TEXT("/root/.nvm/versions/node/v18.17.1/bin/node (deleted)");
	t.environ = (struct text){ NULL, 0 };
	t.cmdline = words("node a.js");
	belief_parse_options(&arena, &t, NULL, &o);
	CHECK(o.kind == BELIEF_NODE && o.version.feature == 18 && o.version.update == 17);
}

static void test_others(void)
{
	struct belief_options o = asked(NULL, "/srv/app", "GOMEMLIMIT=400MiB GOMAXPROCS=3", NULL);
	struct belief b = believed(&o, &plain);

	CHECK(o.kind == BELIEF_GO && b.heap_bytes == 400 * M && b.cpus == 3);
	CHECK(b.need_bytes == NA_U64 && !b.is_heap_asked);
	o = asked(NULL, "/srv/app", "GOGC=off GOMEMLIMIT=1073741824", NULL);
	b = believed(&o, &plain);
	CHECK(b.need_bytes == G && b.certain_bytes == G && b.is_heap_asked);
	CHECK_STR(b.heap_source, "GOMEMLIMIT=1G GOGC=off");
	o = asked(NULL, "/srv/app", "GOMEMLIMIT=off", NULL);
	CHECK(believed(&o, &plain).heap_bytes == NA_U64);
	o = asked(NULL, "/srv/app", "GOMEMLIMIT=1.5GiB", NULL);
	CHECK(o.go.limit_bytes == NA_U64);
	o = asked(NULL, "/srv/app", NULL, NULL);
	CHECK(o.kind == BELIEF_OTHER && believed(&o, &plain).arena_space_bytes == 20 * 64 * M);
	o = asked(NULL, "/srv/app", "MALLOC_ARENA_MAX=2", NULL);
	CHECK(believed(&o, &plain).arena_space_bytes == 128 * M);
	CHECK_STR(belief_kind_name(o.kind), NULL);
}

int main(void)
{
	test_versions();
	test_argfile();
	test_sizes();
	test_jvm_words();
	test_jvm_environment();
	test_jvm_heaps();
	test_jvm_unknown();
	test_jvm_sum();
	test_jvm_cpus();
	test_node();
	test_others();
	arena_free(&arena);
	return check_done("belief");
}
