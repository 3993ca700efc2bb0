/*
 * --record: samples taken now, folded while they come. What is kept grows with the different stacks
 * there are, not with time.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "common/stack/perflive.h"
#include "applets/flamefold/record.h"
#include "applets/flamefold/targets.h"
#include "common/base/fail.h"
#include "common/base/mem.h"
#include "common/base/na.h"
#include "common/kernel/source.h"
#include "common/report/screen.h"

#define FREQUENCY 99                   /* not 100: see the man page */
#define SECONDS 30
#define DRAIN_MS 200                   /* how soon the files of a new process are opened */
#define EXPECTED_LEAST 500             /* flamefold.mostly-off-cpu */
#define TAKEN_MOST 0.50
#define NS 1000000000ull

struct recording {
	struct out *out;
	struct profile profile;
	struct targets targets;
	struct perfevent *events;
	struct samples *samples;
	struct perflive live;
	uint64_t began_ns, ended_ns;
	struct function_sums *before;  /* of a live list: what was shown already */
	uint32_t before_names;
};

static struct {
	uint64_t window_ns;            /* 0: until the command ends */
	uint64_t interval_ns, count;   /* of a live list; 0: none */
	char **command;
} plan;

/* ---- what was asked ---- */

static bool is_duration(const char *text, uint64_t *ns)
{
	return opt_duration("SECONDS", text, ns) >= 0;
}

/* [SECONDS | INTERVAL COUNT | COMMAND ARG...] */
static int take_operands(int argc, char **argv)
{
	uint64_t ns = SECONDS * NS;

	plan.window_ns = ns;
	if (argc < 2)
		return 0;
	if (!is_duration(argv[1], &ns)) {
		plan.command = argv + 1;
		plan.window_ns = 0;
		return 0;
	}
	if (!ns)
		return fail(EINVAL, "0 seconds are none");
	plan.window_ns = ns;
	if (argc == 2)
		return 0;
	if (argc > 3 || !typed.functions)
		return fail(EINVAL, "unexpected word '%s'%s", argv[2], typed.functions ? "" :
			    " (a command stands alone; INTERVAL COUNT go with --functions)");
	plan.interval_ns = ns;
	return opt_number("count", argv[2], &plan.count);
}

static int check_events(void)
{
	struct perfname n;

	if (typed.frequency && typed.period)
		return fail(EINVAL, "-F and -c exclude each other");
	return typed.event ? perfname_parse(typed.event, &n) : 0;
}

int record_start(int argc, char **argv)
{
	int err = options_check();

	if (err >= 0)
		err = take_operands(argc, argv);
	if (err >= 0)
		err = targets_check(plan.command != NULL);
	return err < 0 ? err : check_events();
}

/* --functions with a target and an interval: [INTERVAL [COUNT]], until interrupted. */
int record_start_list(int argc, char **argv)
{
	int err = options_check();

	plan.interval_ns = 2 * NS;
	plan.count = NA_U64;
	if (err >= 0 && argc > 1)
		err = opt_duration("interval", argv[1], &plan.interval_ns);
	if (err >= 0 && argc > 2)
		err = opt_number("count", argv[2], &plan.count);
	if (err >= 0 && argc > 3)
		err = fail(EINVAL, "unexpected word '%s'", argv[3]);
	if (err >= 0 && (!plan.interval_ns || !plan.count))
		err = fail(EINVAL, "0 intervals are none");
	if (err >= 0)
		err = targets_check(false);
	plan.window_ns = plan.count == NA_U64 ? NA_U64 : plan.interval_ns * plan.count;
	return err < 0 ? err : check_events();
}

/* ---- opening ---- */

static int open_events(struct recording *r)
{
	struct perfname n = { 0 };
	struct perfevent_options o = {
		.event = typed.event,
		.frequency = typed.frequency,
		.period = typed.period,
		.target = r->targets.is,
		.starts_on_exec = r->targets.child && !r->targets.is.is_everything,
		.dumps_stack = typed.call_graph && !strcmp(typed.call_graph, "dwarf"),
		.tells_cgroup = asked.filter.by == ROOT_CGROUP,
	};

	if (typed.event) {
		const int err = perfname_parse(typed.event, &n);

		if (err < 0)
			return err;
	}
	/* what ticks is sampled by time; of what happens each one counts */
	if (!o.frequency && !o.period) {
		if (!typed.event || n.is_clock || n.is_hardware)
			o.frequency = FREQUENCY;
		else
			o.period = 1;
	}
	typed.frequency = o.frequency;
	return perfevent_open(&o, &r->events);
}

static void tell_engine(struct recording *r)
{
	const struct perfevent_facts *f = perfevent_facts(r->events);

	if (f->fallback)
		out_note(r->out, "sampling %s: %s", f->event, f->fallback);
	if (f->without_kernel)
		out_note(r->out, "time in the kernel is not seen: %s", f->without_kernel);
}

static int open_all(struct recording *r)
{
	profile_open(&r->profile);
	int err = profile_filter(&r->profile);

	if (err >= 0)
		err = targets_open(&r->targets, plan.command);
	if (err >= 0)
		err = open_events(r);
	if (err < 0)
		return err;
	r->samples = samples_open(&r->profile, &(struct samples_source){
		.name = r->targets.text,
	});
	err = perflive_open_fold(&r->live, samples_fold(r->samples), perfevent_events(r->events),
			    perfevent_trailer(r->events));
	for (size_t i = 0; err >= 0 && i < typed.pids.count; i++)
		perflive_know(&r->live, (uint32_t)typed.pids.items[i]);
	if (err >= 0 && asked.filter.by == ROOT_CGROUP && perflive_know_cgroups(&r->live) < 0)
		out_missing(r->out, "--by cgroup: %s", fail_text());
	tell_engine(r);
	return err;
}

static void close_all(struct recording *r)
{
	perflive_close(&r->live);
	samples_free(r->samples);
	perfevent_close(r->events);
	targets_close(&r->targets);
	free(r->before);
	profile_free(&r->profile);
}

/* ---- sampling ---- */

static void take_records(struct recording *r, bool is_last)
{
	struct perf_record record;

	perfevent_drain(r->events, is_last);
	while (perfevent_next(r->events, &record))
		perflive_take(&r->live, &record);
}

/* A key pressed in the live list, or a while. */
static bool wait_a_while(struct recording *r, uint64_t due_ns)
{
	if (screen_is_open()) {
		const int key = screen_wait(due_ns);

		return key != 'q' && key != 3;
	}
	const uint64_t now_ns = src_now_ns();
	const uint64_t left_ms = due_ns > now_ns ? (due_ns - now_ns) / 1000000 + 1 : 0;

	perfevent_wait(r->events, r->targets.child_fd,
		       left_ms < DRAIN_MS ? (int)left_ms : DRAIN_MS);
	return true;
}

/* Until then, or until there is nothing left to sample. False: the end. */
static bool sample_until(struct recording *r, uint64_t due_ns)
{
	while (src_now_ns() < due_ns) {
		const bool goes_on = wait_a_while(r, due_ns);

		take_records(r, false);
		if (!goes_on || run_is_interrupted() || targets_are_gone(&r->targets))
			return false;
	}
	return true;
}

static int begin(struct recording *r)
{
	if (!r->targets.child || r->targets.is.is_everything)
		perfevent_enable(r->events);
	r->began_ns = src_now_ns();
	return targets_start(&r->targets);
}

static const struct perffold_result *end(struct recording *r)
{
	r->ended_ns = src_now_ns();
	perfevent_disable(r->events);
	take_records(r, true);
	return samples_end(r->out, r->samples);
}

/* ---- what came of it ---- */

static void tell_cost(struct recording *r)
{
	struct rusage u;
	struct arena *a = out_arena(r->out);

	if (getrusage(RUSAGE_SELF, &u) < 0)
		return;
	const double cost = (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e9 +
			    (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e3;
	const double span = (double)(r->ended_ns - r->began_ns);

	if (span < 1e9)
		out_note(r->out, "recording took %s of CPU time", human_ns(a, cost));
	else
		out_note(r->out, "recording took %s of CPU time (%s of one CPU)",
			 human_ns(a, cost), human_ratio(a, cost / span));
}

static void tell_unseen(struct recording *r)
{
	struct arena *a = out_arena(r->out);

	if (r->live.gone && shared.verbose)
		out_note(r->out, "%s processes ended before their maps were read",
			 human_count(a, (double)r->live.gone));
	if (r->live.refused)
		out_missing(r->out, "the maps of %s processes may not be read: no names for their "
			    "functions", human_count(a, (double)r->live.refused));
}

/* Threads that can run at once, at the most. */
static uint64_t expected(const struct recording *r, size_t *threads)
{
	const double seconds = (double)(r->ended_ns - r->began_ns) / 1e9;

	*threads = r->targets.is.tid_count;
	if (*threads > r->targets.is.cpu_count)
		*threads = r->targets.is.cpu_count;
	return (uint64_t)(seconds * (double)typed.frequency * (double)*threads + 0.5);
}

static void find_off_cpu(struct recording *r)
{
	struct arena *a = out_arena(r->out);
	const uint64_t taken = r->profile.taken;
	size_t threads;
	const uint64_t wanted = expected(r, &threads);

	if (r->targets.is.is_everything || !typed.frequency)
		return;
	const char *line = arena_printf(a, "%s at %llu Hz on %zu thread%s: %s expected, %s taken",
		human_ns(a, (double)(r->ended_ns - r->began_ns)),
		(unsigned long long)typed.frequency, threads, threads == 1 ? "" : "s",
		human_count(a, (double)wanted), human_count(a, (double)taken));

	if (wanted < EXPECTED_LEAST || (double)taken >= TAKEN_MOST * (double)wanted) {
		out_note(r->out, "%s", line);
		return;
	}
	struct finding *f = note_start(r->out, "flamefold.mostly-off-cpu", r->targets.text);

	finding_u64(f, "expected", wanted);
	finding_u64(f, "taken", taken);
	finding_line(f, "%s: %s of the time it was not on a CPU", line,
		     human_ratio(a, 1 - (double)taken / (double)wanted));
	finding_next(f, "perfbox offcpu");
	note_tell(r->out, f);
}

static int report(struct recording *r)
{
	end(r);
	targets_tell_end(r->out, &r->targets);
	profile_tell(r->out, &r->profile);
	tell_unseen(r);
	if (!r->profile.taken)
		out_missing(r->out, "%s: no samples", r->targets.text);
	find_off_cpu(r);
	shape_tell(r->out, &r->profile);
	shape_find(r->out, &r->profile);
	tell_cost(r);
	return output_write(r->out, &r->profile, false);
}

static uint64_t realtime_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * NS + (uint64_t)t.tv_nsec;
}

/* What came since the last frame. */
static int show_interval(struct recording *r)
{
	out_frame_begin(r->out, realtime_ns());
	samples_look_up(r->samples);
	functions_show_since(r->out, &r->profile, &r->before, &r->before_names);
	return out_frame_end(r->out);
}

static int list_intervals(struct recording *r)
{
	uint64_t due_ns = r->began_ns;
	int err = 0;

	if (screen_is_open())
		screen_footer("q quits");

	for (uint64_t i = 0; i < plan.count && err >= 0; i++) {
		due_ns += plan.interval_ns;
		const bool goes_on = sample_until(r, due_ns);

		err = show_interval(r);
		if (!goes_on)
			break;
	}
	end(r);
	/* the dispatcher ends one more */
	out_frame_begin(r->out, realtime_ns());
	return err;
}

int record_run(struct out *out)
{
	struct recording r = { .out = out, .targets = { .is.cgroup = -1, .go = -1,
							 .child_fd = -1 } };

	options_choose_output(out, false);
	int err = open_all(&r);

	if (err >= 0)
		err = begin(&r);
	if (err >= 0 && plan.interval_ns) {
		err = list_intervals(&r);
	} else if (err >= 0) {
		sample_until(&r, plan.window_ns ? r.began_ns + plan.window_ns : NA_U64);
		err = report(&r);
	}
	close_all(&r);
	return err;
}
