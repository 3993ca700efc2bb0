#include <errno.h>

#include "common/base/buf.h"
#include "common/kernel/belief.h"
#include "tests/unit/cut.h"
#include "tests/unit/host.h"

#define M ((uint64_t)1 << 20)

/* ---- hsperfdata, written as runtime/perfMemory.hpp and perfData.hpp lay it out ---- */

struct writer {
	struct buf b;
	bool is_big_endian;
	unsigned entries;
};

static void add_number(struct writer *w, uint64_t n, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		buf_add_char(&w->b, (char)(n >> 8 * (w->is_big_endian ? bytes - 1 - i : i)));
}

static void pad(struct writer *w)
{
	while (w->b.len % 8)
		buf_add_char(&w->b, '\0');
}

static void start_perfdata(struct writer *w, bool is_big_endian)
{
	*w = (struct writer){ .is_big_endian = is_big_endian };
	buf_add(&w->b, "\xca\xfe\xc0\xc0", 4);
	buf_add_char(&w->b, is_big_endian ? 0 : 1);
	buf_add(&w->b, "\2\0\1", 3);           /* version 2.0, accessible */
	add_number(w, 0, 4);
	add_number(w, 0, 4);
	add_number(w, 1, 8);
	add_number(w, 32, 4);
	add_number(w, 0, 4);                   /* entries: end_perfdata */
}

static void add_entry(struct writer *w, const char *name, const char *string, uint64_t number)
{
	size_t name_len = strlen(name) + 1, data_at = (20 + name_len + 7) / 8 * 8;
	size_t size = string ? strlen(string) + 1 : 8;

	add_number(w, (data_at + size + 7) / 8 * 8, 4);
	add_number(w, 20, 4);
	add_number(w, string ? size : 0, 4);
	buf_add_char(&w->b, string ? 'B' : 'J');
	buf_add(&w->b, "\0\1\1", 3);
	add_number(w, data_at, 4);
	buf_add(&w->b, name, name_len);
	pad(w);
	if (string)
		buf_add(&w->b, string, size);
	else
		add_number(w, number, 8);
	pad(w);
	w->entries++;
}

static struct text end_perfdata(struct writer *w)
{
	for (unsigned i = 0; i < 4; i++)
		w->b.data[28 + i] =
			(char)(w->entries >> 8 * (w->is_big_endian ? 3 - i : i));
	return buf_text(&w->b);
}

/* What a JDK 17 with -Xmx300m and its G1 says. */
static void write_g1(struct writer *w, bool is_big_endian)
{
	start_perfdata(w, is_big_endian);
	add_entry(w, "java.property.java.version", "17.0.15", 0);
	add_entry(w, "java.rt.vmArgs", "-Xmx300m -XX:+UseG1GC", 0);
	add_entry(w, "sun.gc.policy.name", "GarbageFirst", 0);
	add_entry(w, "sun.gc.generation.0.capacity", NULL, 16777240);
	add_entry(w, "sun.gc.generation.0.maxCapacity", NULL, 314572824);
	add_entry(w, "sun.gc.generation.0.space.0.maxCapacity", NULL, 1);
	add_entry(w, "sun.gc.generation.1.capacity", NULL, 297795592);
	add_entry(w, "sun.gc.generation.1.maxCapacity", NULL, 314572808);
	add_entry(w, "sun.gc.metaspace.used", NULL, 5 * M);
	add_entry(w, "sun.ci.nmethodSize", NULL, 2 * M);
}

static void test_perfdata(void)
{
	struct belief_perfdata p = { .heap_max_bytes = 7 };

	for (int is_big_endian = 0; is_big_endian < 2; is_big_endian++) {
		struct writer w;

		write_g1(&w, is_big_endian);
		struct text whole = end_perfdata(&w);

		CHECK(belief_parse_perfdata(whole, &p) == 0);
		CHECK(p.heap_max_bytes == 300 * M && p.heap_committed_bytes == 300 * M);
		CHECK(p.metaspace_used_bytes == 5 * M && p.code_used_bytes == 2 * M);
		CHECK(p.version.feature == 17 && p.version.update == 15);
		CHECK(text_is(p.arguments, "-Xmx300m -XX:+UseG1GC"));
		EACH_CUT(n, whole)
			if (belief_parse_perfdata(cut(whole, n), &p) == 0)
				CHECK(p.heap_max_bytes == NA_U64 || p.heap_max_bytes == 300 * M);
		buf_free(&w.b);
	}
}

static void test_collectors(void)
{
	struct belief_perfdata p;
	struct writer w;

	/* two generations make up a serial heap */
	start_perfdata(&w, false);
	add_entry(&w, "sun.gc.policy.name", "Copy:MSC", 0);
	add_entry(&w, "sun.gc.generation.0.maxCapacity", NULL, 104857600);
	add_entry(&w, "sun.gc.generation.1.maxCapacity", NULL, 209715200);
	CHECK(belief_parse_perfdata(end_perfdata(&w), &p) == 0 && p.heap_max_bytes == 300 * M);
	CHECK(p.heap_committed_bytes == NA_U64 && !p.arguments.data && !p.version.feature);
	buf_free(&w.b);
	/* ZGC of 17 has one, Shenandoah's first is empty */
	start_perfdata(&w, false);
	add_entry(&w, "sun.gc.generation.1.maxCapacity", NULL, 314572800);
	CHECK(belief_parse_perfdata(end_perfdata(&w), &p) == 0 && p.heap_max_bytes == 300 * M);
	buf_free(&w.b);
	/* a JVM that has just started says nothing of its heap yet */
	start_perfdata(&w, false);
	add_entry(&w, "sun.gc.generation.0.maxCapacity", NULL, 0);
	CHECK(belief_parse_perfdata(end_perfdata(&w), &p) == 0 && p.heap_max_bytes == NA_U64);
	buf_free(&w.b);
	/* options longer than what is kept of them are not all of them */
	char longer[1024];

	memset(longer, 'x', sizeof(longer));
	longer[1023] = '\0';
	start_perfdata(&w, false);
	add_entry(&w, "java.rt.vmArgs", longer, 0);
	CHECK(belief_parse_perfdata(end_perfdata(&w), &p) == 0 && !p.arguments.data);
	buf_free(&w.b);
}

static void test_bad_perfdata(void)
{
	struct belief_perfdata p = { .heap_max_bytes = 7 };
	struct writer w;

	CHECK(belief_parse_perfdata(TEXT(""), &p) == -EINVAL);
	CHECK(belief_parse_perfdata(TEXT("\xca\xfe\xc0\xc0\1\2\0\1"), &p) == -EINVAL);
	start_perfdata(&w, false);
	add_entry(&w, "sun.gc.generation.0.maxCapacity", NULL, 100 * M);
	end_perfdata(&w);
	w.b.data[32] = 4;              /* an entry shorter than its head */
	CHECK(belief_parse_perfdata(buf_text(&w.b), &p) == -EINVAL);
	w.b.data[32] = (char)0xff;     /* and one longer than the file */
	CHECK(belief_parse_perfdata(buf_text(&w.b), &p) == -EINVAL && p.heap_max_bytes == 7);
	buf_free(&w.b);
	start_perfdata(&w, false);
	w.b.data[0] = 0;
	CHECK(belief_parse_perfdata(end_perfdata(&w), &p) == -EINVAL);
	buf_free(&w.b);
}

/* ---- smaps ---- */

#define MAP(range, name, anonymous) \
	range " rw-p 00000000 00:00 0                          " name "\n" \
	"Size:                  4 kB\nRss:                  77 kB\n" \
	"Anonymous:            " anonymous " kB\nSwap:                  1 kB\nVmFlags: rd wr\n"

static void test_smaps(void)
{
	/* G1 of 64M: committed, reserved, objects of the archive */
	static const struct text g1 = TEXT(
		MAP("fc000000-fd000000", "", "1000") MAP("fd000000-ff000000", "", "0")
		MAP("ff000000-fff00000", "", "20") MAP("fff00000-100000000", "/j/classes.jsa", "3")
		MAP("7f0000000000-7f0000021000", "", "50") MAP("7f0000021000-7f0004000000", "", "0")
		MAP("7f1000000000-7f1000001000", "[stack]", "9"));
	const uint64_t heap = 64 * M;

	/* arenas of malloc are as large, but not as low */
	CHECK(belief_heap_resident(g1, heap) == (1000 + 20 + 3 + 4) << 10);
	CHECK(belief_heap_resident(g1, 60 * M) == NA_U64);
	CHECK(belief_heap_resident(TEXT(MAP("7f0000000000-7f0004000000", "", "5")
					MAP("7f0008000000-7f000c000000", "", "6")), heap) ==
	      NA_U64);
	CHECK(belief_heap_resident(TEXT(MAP("7f0000000000-7f0004000000", "", "5")), heap) ==
	      6 << 10);
	CHECK(belief_heap_resident(TEXT(MAP("7f0000000000-7f0004000000", "/lib/x.so", "5")),
				   heap) == NA_U64);
	CHECK(belief_heap_resident(TEXT(MAP("40000000000-40008000000",
					    "/memfd:java_heap (deleted)", "5")), heap) == 0);
	CHECK(belief_heap_resident(TEXT(""), heap) == NA_U64);
	CHECK(belief_heap_resident(TEXT("fff-0 rw-p 0 0 0\nx-y\n-\n\n"), heap) == NA_U64);
	EACH_CUT(n, g1) {
		uint64_t part = belief_heap_resident(cut(g1, n), heap);

		CHECK(part == NA_U64 || part <= (1000 + 20 + 3 + 4) << 10);
	}
}

/* ---- processes ---- */

static struct src_dir proc;

static void open_host(const char *name)
{
	CHECK(!src_open_root(at(name)) && src_frame_begin() == 1);
	CHECK(!src_dir_open(&proc, "proc"));
}

static void close_host(void)
{
	src_dir_close(&proc);
	src_frame_end();
	src_close();
}

static void put_words(const char *path, const char *line)
{
	char words[512];
	size_t n = strlen(line) + 1;

	memcpy(words, line, n);
	for (size_t i = 0; i < n; i++)
		if (words[i] == ' ')
			words[i] = '\0';
	host_add(path, "");
	put(path, words, n);
}

static void test_jvm_process(void)
{
	struct belief_process p;
	struct belief_perfdata d;
	struct writer w;

	put_words("j/proc/40/cmdline", "java @opts -jar x.jar");
	put_words("j/proc/40/environ", "_JAVA_OPTIONS=-Xmx1m");
	host_link("j/proc/40/exe", "/opt/jdk/jre/bin/java");
	host_link("j/proc/40/cwd", "/srv");
	host_add("j/proc/40/root/srv/opts", "-Xmx512m\n");
	host_add("j/proc/40/root/opt/jdk/release", "JAVA_VERSION=\"11.0.15\"\n");
	open_host("j");
	belief_read_process(&proc, 40, 1000, TEXT("40\t1"), false, &p);
	CHECK(p.options.kind == BELIEF_JVM && p.options.version.update == 15);
	CHECK(p.options.jvm.max_heap_bytes == 512 * M && !p.options.has_environment);
	CHECK(!p.perfdata[0] && !belief_read_perfdata(40, &p, &d));
	belief_read_process(&proc, 40, 1000, TEXT("40\t1"), true, &p);
	CHECK(p.options.jvm.max_heap_bytes == M && p.options.has_environment);
	close_host();
	/* its own word for it, under its own name for its user and its own number */
	host_add("j/proc/40/root/etc/passwd", "root:x:0:0::/:/x\napp:x:1000:1000::/:/x\n");
	host_add("j/proc/40/root/tmp/hsperfdata_app/1", "");
	write_g1(&w, false);
	struct text t = end_perfdata(&w);

	put("j/proc/40/root/tmp/hsperfdata_app/1", t.data, t.len);
	buf_free(&w.b);
	open_host("j");
	belief_read_process(&proc, 40, 1000, TEXT("40\t1"), false, &p);
	CHECK(p.options.jvm.max_heap_bytes == 300 * M && p.options.has_environment);
	CHECK(p.options.version.feature == 11);
	CHECK(belief_read_perfdata(40, &p, &d) && d.heap_max_bytes == 300 * M);
	close_host();
}

static void test_other_processes(void)
{
	struct belief_process p;

	/* a JVM under another name has libjvm.so mapped; who only starts one does not */
	put_words("o/proc/50/cmdline", "jsvc -Xmx64m Main");
	host_link("o/proc/50/exe", "/usr/bin/jsvc");
	host_add("o/proc/50/maps", "00400000-00401000 r-xp 00000000 08:01 9 /usr/bin/jsvc\n"
				   "7f00000000-7f00001000 r-xp 00000000 08:01 9 "
				   "/opt/jdk/lib/server/libjvm.so\n");
	host_add("o/proc/50/root/opt/jdk/release", "JAVA_VERSION=\"17.0.2\"\n");
	put_words("o/proc/51/cmdline", "sudo java -Xmx64m Main");
	host_link("o/proc/51/exe", "/usr/bin/sudo");
	host_add("o/proc/51/maps", "00400000-00401000 r-xp 00000000 08:01 9 /usr/bin/sudo\n");
	put_words("o/proc/52/cmdline", "node a.js");
	host_link("o/proc/52/exe", "/usr/local/bin/node");
	host_add("o/proc/52/root/usr/local/include/node/node_version.h",
		 "#define NODE_MAJOR_VERSION 20\n#define NODE_MINOR_VERSION 3\n"
		 "#define NODE_PATCH_VERSION 1\n");
	open_host("o");
	belief_read_process(&proc, 50, 0, TEXT("50"), false, &p);
	CHECK(p.options.kind == BELIEF_JVM && p.options.jvm.max_heap_bytes == 64 * M);
	CHECK(p.options.version.feature == 17);
	belief_read_process(&proc, 51, 0, TEXT("51"), false, &p);
	CHECK(p.options.kind == BELIEF_OTHER);
	belief_read_process(&proc, 52, 0, TEXT("52"), false, &p);
	CHECK(p.options.kind == BELIEF_NODE && p.options.version.feature == 20 &&
	      p.options.version.update == 3);
	belief_read_process(&proc, 53, 0, TEXT(""), true, &p);
	CHECK(p.options.kind == BELIEF_OTHER && !p.options.has_environment);
	close_host();
}

/* Live: what a process's paths lead to stays inside its root and is a plain file. */
static void test_live(void)
{
	struct belief_process p = { .perfdata = "" };
	struct belief_perfdata d;

	CHECK(!src_open_live() && src_frame_begin() == 1 && !src_dir_open(&proc, "proc"));
	belief_read_process(&proc, (uint32_t)getpid(), 0, TEXT(""), true, &p);
	CHECK(p.options.kind == BELIEF_OTHER && p.options.has_environment);
	snprintf(p.perfdata, sizeof(p.perfdata), "dev/zero");
	CHECK(!belief_read_perfdata((uint32_t)getpid(), &p, &d));
	snprintf(p.perfdata, sizeof(p.perfdata), "proc/self/environ/../../..");
	CHECK(!belief_read_perfdata((uint32_t)getpid(), &p, &d));
	close_host();
}

int main(void)
{
	if (!scratch_begin("belief"))
		return 1;
	test_perfdata();
	test_collectors();
	test_bad_perfdata();
	test_smaps();
	test_jvm_process();
	test_other_processes();
	test_live();
	scratch_end();
	return check_done("belief_files");
}
