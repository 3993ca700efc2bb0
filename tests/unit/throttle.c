/*
 * What a saved run says, and the exact split on real threads: one out of quota, four that only
 * queue, and one beside a throttled group. What the kernel says of itself (cpu.stat, schedstat) is
 * the yardstick, so other load does no harm.
 */
#include "common/kernel/throttle.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/base/fail.h"
#include "common/base/scan.h"
#include "common/kernel/cgroup.h"
#include "common/kernel/source.h"
#include "common/kernel/task.h"
#include "tests/unit/check.h"

#define MS 1000000ull
#define SPINNERS 9

struct spinner {
	pid_t pid;
	uint64_t wait_ns, throttled_ns, unsure_ns;     /* at the first look, then what they moved */
	uint64_t run_delay_ns;
};

static struct spinner spinners[SPINNERS];
static size_t spinner_count;
static struct cgroup_layout layout;
static char limited[256], beside[256];         /* folders of our two groups */

static int parse(const char *reply, struct arena *arena, const struct throttle_row **rows,
		 size_t *count)
{
	struct throttle_counts counts;

	return throttle_parse(text_of(reply), arena, rows, count, &counts);
}

static void check_parsing(void)
{
	static const char *const bad[] = {
		"", "\n", "counts 1 2 3 4\n", "counts 1 2 3 4 5 6\n", "counts 1 2 3 4 x\n",
		"7 1 2 3 4\n", "7 1 2 3\ncounts 0 0 0 0 0\n", "7 1 2 3 4 5\ncounts 0 0 0 0 0\n",
		"4294967296 1 2 3 4\ncounts 0 0 0 0 0\n", "7 -1 2 3 4\ncounts 0 0 0 0 0\n",
		"7 99999999999999999999 2 3 4\ncounts 0 0 0 0 0\n",
	};
	const struct throttle_row *rows = NULL;
	struct throttle_counts counts;
	struct arena arena = { 0 };
	size_t count = 99;

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		CHECK(parse(bad[i], &arena, &rows, &count) == -EINVAL);
	CHECK(!rows && count == 99);
	CHECK_STR(fail_text(), "bpf throttle: line 1 is garbled or missing");
	CHECK(!parse("counts 0 0 0 0 0\n", &arena, &rows, &count) && count == 0);
	CHECK(!throttle_parse(TEXT("4294967295 5 18446744073709551615 3 0\n2 9 4 0 1\n"
				   "counts 1 2 3 4 5"), &arena, &rows, &count, &counts));
	CHECK(count == 2 && rows[0].tid == UINT32_MAX && rows[0].start_ns == 5);
	CHECK(rows[0].wait_ns == UINT64_MAX && rows[0].throttled_ns == 3 && rows[1].unsure_ns == 1);
	CHECK(counts.migrated == 1 && counts.regrouped == 2 && counts.repaired == 3);
	CHECK(counts.dropped == 4 && counts.unseen == 5);
	arena_free(&arena);
}

static void nap(uint64_t ns)
{
	const struct timespec t = { (time_t)(ns / 1000000000u), (long)(ns % 1000000000u) };

	nanosleep(&t, NULL);
}

static bool put(const char *folder, const char *file, const char *text)
{
	char path[300];

	snprintf(path, sizeof(path), "%s/%s", folder, file);
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return false;
	bool good = write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	close(fd);
	return good;
}

static void clean(void)
{
	for (size_t i = 0; i < spinner_count; i++)
		kill(spinners[i].pid, SIGKILL);
	for (size_t i = 0; i < spinner_count; i++)
		waitpid(spinners[i].pid, NULL, 0);
	spinner_count = 0;
	/* a group is busy for a moment after its last thread has gone */
	for (int i = 0; i < 50 && ((rmdir(limited) && errno == EBUSY) ||
				   (rmdir(beside) && errno == EBUSY)); i++)
		nap(20 * MS);
}

/* 2 ms in 20 for `limited`, nothing for `beside`. */
static bool make_groups(void)
{
	bool is_v1 = layout.cpu.version == 1;
	char mount[128];

	if (!layout.cpu.version)
		return false;
	snprintf(mount, sizeof(mount), "/%s", layout.cpu.mount);
	snprintf(limited, sizeof(limited), "%s/perfbox-test-unit-%d", mount, (int)getpid());
	snprintf(beside, sizeof(beside), "%s/perfbox-test-unit-%d-b", mount, (int)getpid());
	if (!is_v1)
		put(mount, "cgroup.subtree_control", "+cpu");
	if (mkdir(limited, 0700) || mkdir(beside, 0700))
		return false;
	if (!is_v1)
		return put(limited, "cpu.max", "2000 20000");
	return put(limited, "cpu.cfs_period_us", "20000") &&
		put(limited, "cpu.cfs_quota_us", "2000");
}

static void spin(const char *folder, int cpu)
{
	struct spinner *s = &spinners[spinner_count++];
	cpu_set_t set;

	*s = (struct spinner){ .pid = fork() };
	if (s->pid)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setpriority(PRIO_PROCESS, 0, 0);
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if ((folder && !put(folder, "cgroup.procs", "0")) ||
	    (cpu >= 0 && sched_setaffinity(0, sizeof(set), &set)))
		_exit(1);
	for (;;) {
		volatile int work = 0;

		work = work + 1;
	}
}

static bool find_row(const struct throttle_row *rows, size_t count, const struct spinner *s,
		     uint64_t *wait, uint64_t *throttled, uint64_t *unsure)
{
	for (size_t i = 0; i < count; i++) {
		if (rows[i].tid != (uint32_t)s->pid)
			continue;
		*wait = rows[i].wait_ns;
		*throttled = rows[i].throttled_ns;
		*unsure = rows[i].unsure_ns;
		return true;
	}
	return false;
}

/* Leaves in each spinner, and in *own_ns for the limited group, what moved since the last look. */
static void look(uint64_t *own_ns)
{
	struct task_schedstat stat;
	const struct throttle_row *rows;
	struct cgroup_cpu cpu;
	struct text t;
	size_t count;

	CHECK(src_frame_begin() == 1);
	if (!CHECK(!throttle_read(&rows, &count)))
		exit(check_done("throttle"));
	for (size_t i = 0; i < spinner_count; i++) {
		struct spinner *s = &spinners[i], now = { 0 };

		CHECK(find_row(rows, count, s, &now.wait_ns, &now.throttled_ns, &now.unsure_ns));
		CHECK(!src_readf(&t, "proc/%d/schedstat", (int)s->pid));
		CHECK(!task_parse_schedstat(t, &stat));
		s->wait_ns = now.wait_ns - s->wait_ns;
		s->throttled_ns = now.throttled_ns - s->throttled_ns;
		s->unsure_ns = now.unsure_ns - s->unsure_ns;
		s->run_delay_ns = stat.wait_ns - s->run_delay_ns;
	}
	CHECK(!cgroup_read_cpu(&layout, limited + 1, &cpu));
	*own_ns = cpu.throttled_ns - *own_ns;
	CHECK(!src_frame_end());
}

/* For so long, from one look to the next. The group's time throttled is the result. */
static uint64_t measure(uint64_t ns)
{
	uint64_t own_ns = 0;

	for (size_t i = 0; i < spinner_count; i++)
		spinners[i] = (struct spinner){ .pid = spinners[i].pid };
	look(&own_ns);
	nap(ns);
	look(&own_ns);
	return own_ns;
}

static void show(const char *what, uint64_t own_ns)
{
	printf("%s: group throttled %llu ms\n", what, (unsigned long long)(own_ns / MS));
	for (size_t i = 0; i < spinner_count; i++) {
		const struct spinner *s = &spinners[i];

		printf("  wait %llu throttled %llu unsure %llu schedstat %llu ms\n",
		       (unsigned long long)(s->wait_ns / MS),
		       (unsigned long long)(s->throttled_ns / MS),
		       (unsigned long long)(s->unsure_ns / MS),
		       (unsigned long long)(s->run_delay_ns / MS));
	}
}

/*
 * cpu.stat and schedstat grow when a wait ends, so at either end they may be one period and one
 * slice off; an emulated guest takes its time from one reading to the next.
 */
static uint64_t slack(uint64_t interval_ns)
{
	return interval_ns / 20 + 60 * MS;
}

static bool is_near(uint64_t a, uint64_t b, uint64_t interval_ns)
{
	return (a > b ? a - b : b - a) <= slack(interval_ns);
}

static bool agrees(uint64_t own_ns, uint64_t interval_ns)
{
	uint64_t throttled_ns = spinners[0].throttled_ns + spinners[0].unsure_ns / 2;
	bool good = is_near(throttled_ns, own_ns, interval_ns);

	for (size_t i = 0; i < spinner_count; i++)
		good = good && is_near(spinners[i].wait_ns, spinners[i].run_delay_ns, interval_ns);
	return good;
}

/* Until the kernel's own figures agree: on a stolen CPU they may be late for once, not always. */
static void check_interval(const char *what, uint64_t interval_ns)
{
	unsigned failed = check_failed;
	uint64_t own_ns = 0;
	bool good = false;

	for (int i = 0; i < 3 && !good; i++) {
		own_ns = measure(interval_ns);
		good = agrees(own_ns, interval_ns);
	}
	CHECK(good);
	CHECK(spinners[0].throttled_ns > interval_ns / 4);
	for (size_t i = 0; i < spinner_count; i++) {
		CHECK(spinners[i].unsure_ns <= interval_ns / 50);
		CHECK(spinners[i].throttled_ns <= spinners[i].wait_ns + MS);
		CHECK(i == 0 || spinners[i].throttled_ns == 0);
		CHECK(spinners[i].wait_ns > interval_ns / 20);
	}
	if (check_failed > failed)
		show(what, own_ns);
}

static void check_threads(void)
{
	spin(limited, 0);
	nap(100 * MS);
	check_interval("one out of quota", 1200 * MS);

	spin(beside, 0);
	for (int i = 0; i < 4; i++)
		spin(NULL, -1);
	nap(100 * MS);
	check_interval("with one beside it and four that queue", 1500 * MS);
}

/* Waits that go on on another CPU are measured there, too: all throttled, some migrate. */
static void check_migration(void)
{
	const uint64_t interval_ns = 800 * MS;
	const size_t first = spinner_count;
	unsigned failed = check_failed;

	for (int i = 0; i < 3; i++)
		spin(limited, -1);
	nap(100 * MS);
	uint64_t own_ns = measure(interval_ns);

	for (size_t i = first; i < spinner_count; i++) {
		CHECK(spinners[i].throttled_ns > interval_ns / 20);
		CHECK(spinners[i].unsure_ns <= interval_ns / 50);
	}
	const struct throttle_counts *c = throttle_counts();

	CHECK(c->regrouped <= c->migrated / 10);
	CHECK(c->dropped <= 1);
	if (check_failed > failed) {
		show("with three more out of quota", own_ns);
		printf("migrated %llu regrouped %llu dropped %llu\n",
		       (unsigned long long)c->migrated, (unsigned long long)c->regrouped,
		       (unsigned long long)c->dropped);
	}
}

/* 0, or why nothing can be measured here. */
static int prepare(void)
{
	if (geteuid())
		return fail(EPERM, "needs root");
	int err = src_open_live();

	if (err)
		return err;
	if (!CHECK(src_frame_begin() == 1))
		return fail(EIO, "no frame");
	err = cgroup_find(src_arena(), &layout);
	layout.cpu.mount = mem_strdup(layout.cpu.mount);
	src_frame_end();
	return err ? err : throttle_open();
}

int main(void)
{
	check_parsing();
	if (prepare()) {
		check_skip("threads", fail_text());
		return check_done("throttle");
	}
	atexit(clean);
	setpriority(PRIO_PROCESS, 0, -20);     /* looks must be taken when they are due */
	if (make_groups()) {
		check_threads();
		check_migration();
	} else {
		check_skip("threads", "no group with a CPU quota can be made here");
	}
	throttle_close();
	src_close();
	return check_done("throttle");
}
