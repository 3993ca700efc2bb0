/* The default mode: all waiting within one window of time, by stack. */
#include <errno.h>
#include <sys/resource.h>

#include "applets/offcpu/offcpu.h"
#include "common/base/fail.h"
#include "common/base/na.h"
#include "common/kernel/source.h"
#include "common/report/redact.h"

/* What rows are printed from: until the end. */
static struct waits w;
static struct view v;

static int start(int argc, char **argv)
{
	return window_check(argc, argv);
}

static void tell_lost(struct out *out)
{
	static const struct {
		const char *count, *text;
	} lost[] = {
		{ "lost_rows", "waits had no room for a row: their time is missing" },
		{ "lost_threads", "threads had no room for their names" },
		{ "unseen", "threads were not seen: no memory" },
	};
	struct arena *a = out_arena(out);

	for (size_t i = 0; i < sizeof(lost) / sizeof(*lost); i++)
		if (waits_count(&w, lost[i].count))
			out_missing(out, "%s %s",
				    human_count_u64(a, waits_count(&w, lost[i].count)),
				    lost[i].text);
}

/* Those that ended too soon are nobody's fault; those that may not be read are. */
static void tell_nameless(struct out *out)
{
	const uint64_t n = waits_count(&w, "nameless");
	const char *text = human_count_u64(out_arena(out), n);

	if (n && waits_count(&w, "refused"))
		out_missing(out, "%s processes have no names: their maps may not be read", text);
	else if (n)
		out_note(out, "%s processes have no names: they ended before their maps were read",
			 text);
}

static void tell_host(struct out *out)
{
	struct arena *a = out_arena(out);
	const struct src_uname *u = src_uname();

	out_host(out, "offcpu  %s  %s  %s threads waited %s: asleep %s, woken and queued %s, "
		 "preempted %s, of that throttled %s",
		 redact_name(a, NAME_HOST, u->host ? u->host : "-"),
		 human_ns(a, (double)w.window_ns), human_count_u64(a, v.threads),
		 human_ns(a, (double)v.total_ns), human_ns(a, (double)v.sleep_ns),
		 human_ns(a, (double)v.wait_ns), human_ns(a, (double)v.preempted_ns),
		 human_ns(a, (double)v.throttled_ns));
}

/* What it cost, and what it repaired. */
static void tell_cost(struct out *out)
{
	struct arena *a = out_arena(out);
	struct rusage u;

	out_line(out, "measured", "by %s: %s waits, %s repaired, %s stacks lost",
		 w.engine ? w.engine : "-", human_count_u64(a, waits_count(&w, "intervals")),
		 human_count_u64(a, waits_count(&w, "resynced")),
		 human_count_u64(a, waits_count(&w, "lost_stacks")));
	if (!src_is_live() || getrusage(RUSAGE_SELF, &u) < 0)
		return;
	out_note(out, "took %s of CPU time beside what each switch costs",
		 human_ns(a, (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e9 +
			     (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e3));
}

static void stop(void)
{
	view_free(&v);
	waits_free(&w);
}

static int run(struct out *out)
{
	int err = measure_window(out, &w);

	if (window.output == OUTPUT_FOLDED && out_format(out) != OUT_PEOPLE)
		window.output = OUTPUT_TABLES;
	if (err >= 0) {
		view_make(&v, &w);
		tell_lost(out);
		tell_nameless(out);
		for (size_t i = 0; i < w.note_count && shared.verbose; i++)
			out_note(out, "%s", w.notes[i]);
		if (!v.count)
			out_note(out, "nothing waited that was asked for");
		if (window.output == OUTPUT_TABLES) {
			tell_host(out);
			tables_show(out, &v);
			tell_cost(out);
		}
		window_findings(out, &v);
		if (window.output != OUTPUT_TABLES)
			err = output_write_window(out, &v);
	}
	return err;
}

static const char *output(void)
{
	return window.file;
}

const struct mode window_mode = {
	.operands = "[SECONDS]",
	.opts = window_opts,
	.tables = window_tables,
	.first_table = window_first_table,
	.narrowed = window_narrowed,
	.output = output,
	.start = start,
	.run = run,
	.stop = stop,
};
