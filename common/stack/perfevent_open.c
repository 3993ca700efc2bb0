/* The system call, and what it means when it says no. */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/base/fail.h"
#include "common/base/mem.h"
#include "common/base/na.h"
#include "common/base/scan.h"
#include "common/kernel/source.h"
#include "common/stack/perfevent.h"

#define CPUS_MAX 65536

static bool read_setting(const char *path, int64_t *value)
{
	struct text t;
	struct scan s;

	if (src_read(path, &t) < 0)
		return false;
	s = scan_of(t);
	return scan_i64(&s, value);
}

int perfevent_fail_refused(int err, const char *what)
{
	int64_t paranoid, rate;

	if ((err == EACCES || err == EPERM) &&
	    read_setting("proc/sys/kernel/perf_event_paranoid", &paranoid))
		return fail(err, "%s: %s (perf_event_paranoid is %lld: needs CAP_PERFMON, or other "
			    "people's processes less paranoia: below 1 for whole CPUs, below 2 for "
			    "the kernel's part)", what, strerror(err), (long long)paranoid);
	if (err == EINVAL && read_setting("proc/sys/kernel/perf_event_max_sample_rate", &rate))
		return fail(err, "%s: %s (perf_event_max_sample_rate is %lld a second)", what,
			    strerror(err), (long long)rate);
	return fail_errno(err, "%s", what);
}

static bool raise_file_limit(void)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r) < 0 || r.rlim_cur >= r.rlim_max)
		return false;
	r.rlim_cur = r.rlim_max;
	return !setrlimit(RLIMIT_NOFILE, &r);
}

int perfevent_open_one(struct perf_event_attr *attr, const struct perfevent_target *t, int tid,
		       int cpu)
{
	unsigned long flags = PERF_FLAG_FD_CLOEXEC;
	long fd;

	if (t->cgroup >= 0) {
		flags |= PERF_FLAG_PID_CGROUP;
		tid = t->cgroup;
	}
	do
		fd = syscall(SYS_perf_event_open, attr, tid, cpu, -1, flags);
	while (fd < 0 && (errno == EINTR || (errno == EMFILE && raise_file_limit())));
	return fd < 0 ? perfevent_fail_refused(errno, "perf_event_open") : (int)fd;
}

struct cpus {
	unsigned *items;
	size_t count, cap;
};

static void add_cpu(unsigned cpu, void *arg)
{
	struct cpus *c = arg;

	c->items = mem_grow(c->items, &c->cap, c->count + 1, sizeof(*c->items));
	c->items[c->count++] = cpu;
}

int perfevent_cpus(unsigned **cpus, size_t *count)
{
	struct cpus c = { 0 };
	struct text t;
	int err = src_read("sys/devices/system/cpu/online", &t);

	if (err < 0)
		return err;
	while (t.len && (t.data[t.len - 1] == '\n' || t.data[t.len - 1] == ' '))
		t.len--;
	err = scan_cpu_list(t, CPUS_MAX, add_cpu, &c);
	if (err <= 0) {
		free(c.items);
		return fail(ENODATA, "/sys/devices/system/cpu/online: no CPUs in it");
	}
	*cpus = c.items;
	*count = c.count;
	return 0;
}
