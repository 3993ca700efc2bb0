/* Small facts about the host and this program: asked of the kernel live, of the run in replay. */
#include "common/kernel/source_impl.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "common/base/na.h"
#include "common/base/scan.h"

#define CPU_MASK_FIRST 128             /* bytes: 1,024 CPUs */
#define CPU_MASK_MAX 65536             /* bytes: 524,288 CPUs, far above any NR_CPUS */

static struct src_uname known_uname;
static bool has_uname;

void src_facts_reset(void)
{
	known_uname = (struct src_uname){ 0 };
	has_uname = false;
}

static uint64_t number_fact(const char *name, uint64_t live, uint64_t otherwise)
{
	uint64_t value = live;
	const char *text;

	if (!src_is_live()) {
		value = otherwise;
		if (!src_replay_value(name, &text))
			scan_all_u64(text_of(text), &value);
	}
	if (src_is_saving() && value != NA_U64) {
		char decimal[32];

		snprintf(decimal, sizeof(decimal), "%llu", (unsigned long long)value);
		src_save_value(name, decimal);
	}
	return value;
}

uint64_t src_page_size(void)
{
	return number_fact("page_size", src_is_live() ? (uint64_t)sysconf(_SC_PAGESIZE) : 0, 4096);
}

uint64_t src_clock_ticks(void)
{
	return number_fact("clock_ticks", src_is_live() ? (uint64_t)sysconf(_SC_CLK_TCK) : 0, 100);
}

uint64_t src_uid(void)
{
	return number_fact("uid", src_is_live() ? geteuid() : 0, NA_U64);
}

uint64_t src_pid(void)
{
	return number_fact("pid", src_is_live() ? (uint64_t)getpid() : 0, NA_U64);
}

/* ---- uname ---- */

/* Where the kernel shows the same by file; machine has none. */
static const char *replayed_name(const char *fact, const char *file)
{
	struct buf b = { 0 };
	const char *text = NULL;

	if (!src_replay_value(fact, &text))
		return arena_strdup(src_run_arena(), text);
	if (file && !src_replay_read(file, &b)) {
		while (b.len && b.data[b.len - 1] == '\n')
			b.len--;
		text = arena_copy(src_run_arena(), b.data, b.len);
	}
	buf_free(&b);
	return text;
}

static void find_uname(void)
{
	struct utsname u;

	if (!src_is_live()) {
		known_uname.host = replayed_name("uname.host", "proc/sys/kernel/hostname");
		known_uname.release = replayed_name("uname.release", "proc/sys/kernel/osrelease");
		known_uname.version = replayed_name("uname.version", "proc/sys/kernel/version");
		known_uname.machine = replayed_name("uname.machine", NULL);
	} else if (!uname(&u)) {
		known_uname.host = arena_strdup(src_run_arena(), u.nodename);
		known_uname.release = arena_strdup(src_run_arena(), u.release);
		known_uname.version = arena_strdup(src_run_arena(), u.version);
		known_uname.machine = arena_strdup(src_run_arena(), u.machine);
	}
	has_uname = true;
}

const struct src_uname *src_uname(void)
{
	if (!has_uname)
		find_uname();
	if (!src_is_saving())
		return &known_uname;
	const struct { const char *name, *text; } parts[] = {
		{ "uname.host", known_uname.host }, { "uname.release", known_uname.release },
		{ "uname.version", known_uname.version }, { "uname.machine", known_uname.machine },
	};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (parts[i].text)
			src_save_value(parts[i].name, parts[i].text);
	return &known_uname;
}

/* ---- affinity ---- */

static bool has_cpu(const unsigned long *mask, size_t bytes, size_t cpu)
{
	const size_t bits = 8 * sizeof(*mask);

	return cpu < bytes * 8 && mask[cpu / bits] >> (cpu % bits) & 1;
}

static void format_list(const unsigned long *mask, size_t bytes, struct buf *list)
{
	for (size_t cpu = 0; cpu < bytes * 8; cpu++) {
		const size_t first = cpu;

		if (!has_cpu(mask, bytes, cpu))
			continue;
		while (has_cpu(mask, bytes, cpu + 1))
			cpu++;
		buf_printf(list, cpu > first ? "%s%zu-%zu" : "%s%zu", list->len ? "," : "", first,
			   cpu);
	}
}

/* The kernel says EINVAL to a mask shorter than its own (kernel/sched/syscalls.c). */
static int live_affinity(uint32_t tid, struct buf *list)
{
	for (size_t bytes = CPU_MASK_FIRST; bytes <= CPU_MASK_MAX; bytes *= 2) {
		unsigned long *mask = mem_alloc(bytes);
		long n = syscall(SYS_sched_getaffinity, (pid_t)tid, bytes, mask);
		int err = n < 0 ? errno : 0;

		if (!err)
			format_list(mask, (size_t)n, list);
		free(mask);
		if (err != EINVAL)
			return -err;
	}
	return -EINVAL;
}

int src_affinity(uint32_t tid, const char **list)
{
	char name[32] = "affinity";
	struct buf b = { 0 };
	const char *text = "";
	int err;

	if (tid)
		snprintf(name, sizeof(name), "affinity.%u", tid);
	if (src_is_live())
		err = live_affinity(tid, &b);
	else
		err = src_replay_value(name, &text);
	if (!err)
		text = arena_strdup(src_arena(), src_is_live() && b.data ? b.data : text);
	buf_free(&b);
	if (src_is_saving() && !err)
		src_save_value(name, text);
	else if (src_is_saving() && err != -ENODATA)
		src_save_error(SRC_VALUE, name, -err);
	if (err && tid)
		return fail_errno(-err, "affinity of thread %u", tid);
	if (err)
		return fail_errno(-err, "affinity of this program");
	*list = text;
	return 0;
}
