/* Samples of this very program, as far as it may: in order, and of the function that runs. */
#include "common/stack/perfevent.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>

#include "common/base/fail.h"
#include "common/stack/perfsample.h"
#include "tests/unit/scratch.h"

static unsigned *cpus;
static size_t cpu_count;

__attribute__((noipa)) static void burn(void)
{
	for (volatile uint64_t i = 0; i < 200000000; i++)
		;
}

static void count_samples(struct perfevent *p, unsigned *samples, bool *is_ordered)
{
	struct perf_record r;
	uint64_t before = 0;

	*samples = 0;
	*is_ordered = true;
	while (perfevent_next(p, &r)) {
		struct perf_sample s;

		*is_ordered &= !r.has_time || r.time >= before;
		before = r.has_time ? r.time : before;
		if (r.type != RECORD_SAMPLE)
			continue;
		const struct perf_event *e = perf_record_event(perfevent_events(p), &r);

		if (CHECK(e && !perf_sample_decode(e, &r, &s)))
			*samples += s.pid == (uint64_t)getpid() && s.chain_count > 0;
	}
}

static void test_sampling(void)
{
	const uint32_t tid = (uint32_t)getpid();
	const struct perfevent_options o = {
		.event = "cpu-clock:u", .frequency = 997,
		.target = { .cgroup = -1, .tids = &tid, .tid_count = 1, .cpus = cpus,
			    .cpu_count = cpu_count },
	};
	struct perfevent *p;
	unsigned first, second;
	bool is_ordered;

	if (perfevent_open(&o, &p) < 0) {
		check_skip("sampling", fail_text());
		return;
	}
	CHECK_STR(perfevent_facts(p)->event, "cpu-clock:u");
	CHECK(perfevent_facts(p)->is_clock && perfevent_trailer(p) == 24);
	perfevent_enable(p);
	burn();
	perfevent_disable(p);
	perfevent_wait(p, -1, 0);
	perfevent_drain(p, false);
	count_samples(p, &first, &is_ordered);
	CHECK(is_ordered);
	perfevent_drain(p, true);
	count_samples(p, &second, &is_ordered);
	CHECK(is_ordered);
	CHECK(first + second > 10);
	perfevent_close(p);
}

static void test_mistakes(void)
{
	const uint32_t nobody = 4194303;
	struct perfevent_options o = {
		.event = "cpu-clock:u", .frequency = 99,
		.target = { .cgroup = -1, .tids = &nobody, .tid_count = 1, .cpus = cpus,
			    .cpu_count = cpu_count },
	};
	struct perfevent *p;
	const int err = perfevent_open(&o, &p);

	CHECK(err == -ESRCH || err == -EACCES || err == -EPERM || err == -ENOSYS);
	o.event = "nosuch";
	CHECK(perfevent_open(&o, &p) == -EINVAL);
	perfevent_close(NULL);
}

int main(void)
{
	CHECK(!src_open_live() && src_frame_begin() == 1);
	if (CHECK(!perfevent_cpus(&cpus, &cpu_count)) && CHECK(cpu_count > 0)) {
		test_sampling();
		test_mistakes();
	}
	free(cpus);
	src_frame_end();
	src_close();
	return check_done("perfevent");
}
