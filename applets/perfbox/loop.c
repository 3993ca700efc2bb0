/*
 * The frame loop: one mode from its first look to its exit status. Intervals do not drift: each
 * frame is due at start + n x interval, whatever the looks themselves cost.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "applets/perfbox/perfbox.h"
#include "common/base/na.h"
#include "common/base/scan.h"
#include "common/kernel/environment.h"
#include "common/kernel/load.h"
#include "common/kernel/source.h"
#include "common/report/outfile.h"
#include "common/report/redact.h"
#include "common/report/screen.h"
#include "version.h"

#define INTERVAL_MIN_NS 1000000ull                       /* 1 ms */
#define INTERVAL_MAX_NS (366ull * 86400 * 1000000000ull)

static volatile sig_atomic_t interrupted;
static struct outfile *outfile;        /* NULL: standard output */

bool run_is_interrupted(void)
{
	return interrupted;
}

/* The first signal asks for the last, partial interval; a second one ends at once. */
static void on_signal(int number)
{
	if (interrupted) {
		screen_restore();
		signal(number, SIG_DFL);
		raise(number);
	}
	interrupted = 1;
}

static void catch_signals(void)
{
	struct sigaction ask = { .sa_handler = on_signal };
	static const int ending[] = { SIGINT, SIGTERM, SIGHUP };

	for (size_t i = 0; i < sizeof(ending) / sizeof(ending[0]); i++) {
		struct sigaction before;

		if (!sigaction(ending[i], NULL, &before) && before.sa_handler != SIG_IGN)
			sigaction(ending[i], &ask, NULL);
	}
	signal(SIGPIPE, SIG_IGN);
}

void complain_about(const char *applet, bool with_hint)
{
	struct arena a = { 0 };
	const char *name = applet ? applet : "";
	/* doctor is no applet but an option */
	const char *space = !applet ? "" : applet_find(applet) ? " " : " --";

	/* the text may quote what was typed or read, whatever bytes that has */
	fprintf(stderr, "perfbox%s%s: %s", space, name, out_escape(&a, fail_text()));
	if (with_hint)
		fprintf(stderr, " (see perfbox%s%s --help)", space, name);
	fputc('\n', stderr);
	arena_free(&a);
}

static void complain(const struct applet *applet)
{
	complain_about(applet->name, false);
}

static int parse_states(unsigned *states)
{
	static const char *const names[] = { "now", "past", "risk", NULL };

	*states = 1u << STATE_NOW | 1u << STATE_PAST | 1u << STATE_RISK;
	if (!choices.states)
		return 0;
	if (!*choices.states)
		return fail(EINVAL, "--state: none of now, risk, past is named");
	*states = 0;
	struct scan s = scan_of(text_of(choices.states));
	struct text word;

	while (s.at < s.end) {
		if (!scan_until(&s, ',', &word)) {
			word = scan_rest(&s);
			s.at = s.end;
		}
		unsigned i = 0;

		while (names[i] && !text_is(word, names[i]))
			i++;
		if (!names[i])
			return fail(EINVAL, "--state: '%.*s' is not one of now, risk, past",
				    (int)word.len, word.data);
		*states |= 1u << i;
	}
	return 0;
}

static bool is_number(const char *word)
{
	struct scan s = scan_of(text_of(word));
	double n;

	return scan_decimal(&s, &n) && s.at == s.end;
}

/* Words that stand before [interval [count]]. */
static int count_words(const struct mode *mode, int argc, char **argv)
{
	int numbers = 0;

	while (numbers < 2 && numbers < argc - 1 && is_number(argv[argc - 1 - numbers]))
		numbers++;
	return mode->takes_words ? argc - 1 - numbers : 0;
}

/* Takes [interval [count]] off the operands; what is left goes to the mode. */
static int parse_interval(const struct mode *mode, int *argc, char **argv)
{
	shared.interval_ns = mode->interval_ns ? mode->interval_ns : 1000000000ull;
	shared.count = NA_U64;
	if (!mode->takes_interval)
		return 0;
	/* a saved run is told whole */
	if ((mode->once || choices.openmetrics) && !choices.root)
		shared.count = 1;
	const int words = count_words(mode, *argc, argv);

	argv += words;
	*argc -= words;
	if (*argc > 3)
		return fail(EINVAL, "unexpected word '%s'", argv[3]);
	if (*argc > 1) {
		int err = opt_duration("interval", argv[1], &shared.interval_ns);

		if (err < 0)
			return err;
	}
	if (shared.interval_ns < INTERVAL_MIN_NS || shared.interval_ns > INTERVAL_MAX_NS)
		return fail(EINVAL, "interval: '%s' is not between 1 ms and a year", argv[1]);
	shared.has_count = *argc > 2;
	if (*argc > 2) {
		int err = opt_number("count", argv[2], &shared.count);

		if (err < 0)
			return err;
		if (shared.count == 0)
			return fail(EINVAL, "count: 0 reports are none");
	}
	*argc = 1 + words;
	return 0;
}

static int check_choices(const struct mode *mode)
{
	if (mode->has_no_root && (choices.save || choices.root))
		return fail(EINVAL, "%s: its inputs are the recordings it is given",
			    choices.save ? "--save" : "--root");
	if (choices.json + choices.tsv + choices.openmetrics > 1)
		return fail(EINVAL, "--json, --tsv and --openmetrics exclude each other");
	if (choices.workload && !choices.save)
		return fail(EINVAL, "--workload goes with --save");
	if (choices.save && choices.redact)
		return fail(EINVAL, "--save keeps what was read, unredacted: use --redact with "
				    "--root later");
	if (choices.save && choices.root)
		return fail(EINVAL,
			    "--save and --root exclude each other: the run is saved already");
	return 0;
}

static int open_output(const struct applet *applet, const struct mode *mode, struct out **out)
{
	struct out_config config = {
		.applet = applet->name,
		.format = choices.json ? OUT_JSON : choices.tsv ? OUT_TSV :
			  choices.openmetrics ? OUT_OPENMETRICS : OUT_PEOPLE,
		.tables = mode->tables,
		.table = choices.table,
		.first_table = mode->first_table ? mode->first_table() : NULL,
		.columns = choices.columns,
		.sort = choices.sort,
		.top = choices.top,
		.no_header = shared.no_header,
		.quiet = shared.quiet,
		.past = shared.past,
	};
	const char *path = mode->output ? mode->output() : NULL;
	int err = parse_states(&config.states);

	if (err < 0)
		return err;
	if (path) {
		err = outfile_open(path, &outfile);
		if (err < 0)
			return err == -EINVAL ? -EINVAL : -EIO;
		config.to = outfile_stream(outfile);
	}
	if (!path && config.format == OUT_PEOPLE && !choices.root && mode->wants_screen &&
	    mode->wants_screen())
		config.to = screen_open(&config.width);
	err = out_open(&config, out);
	if (err < 0) {
		outfile_close(outfile, false);
		outfile = NULL;
	}
	return err;
}

/* After out_close, with what came of it. */
static int close_outfile(int err)
{
	const int closed = outfile_close(outfile, err >= 0);

	outfile = NULL;
	return err >= 0 ? closed : err;
}

static int save_records(const struct applet *applet, const struct mode *mode)
{
	struct buf b = { 0 };
	struct environment e;

	buf_printf(&b, "perfbox-save 1\nversion\t%s\ncommit\t%s\napplet\t%s\nmode\t%s\n",
		   PERFBOX_VERSION, PERFBOX_COMMIT, applet->name, mode->option ? mode->option : "");
	const char *narrowed = mode->narrowed ? mode->narrowed(src_arena()) : NULL;

	if (narrowed)
		buf_printf(&b, "narrowed\t%s\n", out_escape(src_arena(), narrowed));
	int err = src_save_record("manifest", buf_text(&b));

	buf_reset(&b);
	environment_read(src_arena(), &e);
	environment_write(&e, &b);
	if (err >= 0)
		err = src_save_record("environment", buf_text(&b));
	if (err >= 0 && choices.workload)
		err = src_save_record("workload", text_of(choices.workload));
	buf_free(&b);
	return err;
}

/* Pseudonyms' key. */
static void begin_redaction(void)
{
	struct text boot_id = { "", 0 };

	if (!choices.redact)
		return;
	src_read("proc/sys/kernel/random/boot_id", &boot_id);
	redact_on(arena_text(src_arena(), boot_id));
}

static void sleep_until(uint64_t due_ns)
{
	struct timespec t = { (time_t)(due_ns / 1000000000ull), (long)(due_ns % 1000000000ull) };

	while (!interrupted && clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}

/* The time until the next look: the mode's own wait, or asleep but for the samples it takes. */
static void wait_until(const struct mode *mode, uint64_t due_ns)
{
	uint64_t next_ns, now_ns;

	while (mode->wait && !interrupted) {
		int ready = mode->wait(due_ns);

		interrupted |= ready < 0;
		if (ready > 0)
			return;
	}
	while (mode->poll && !interrupted && (next_ns = mode->poll())) {
		now_ns = src_now_ns();
		if (now_ns + next_ns >= due_ns)
			break;
		sleep_until(now_ns + next_ns);
	}
	sleep_until(due_ns);
}

/* One look, printed unless it is the baseline or the mode says that nobody waits for it. LOOK_ bits
 * or -errno. */
static int one_frame(const struct applet *applet, const struct mode *mode, struct out *out,
		     bool is_baseline)
{
	const struct frame *frame = src_frame();
	struct load load;

	out_frame_begin(out, frame->realtime_ns);
	int looked = mode->look(out), err = 0;

	/* behind the look, which the frame's clock belongs to */
	if (src_is_saving())
		load_read(&load);
	if (looked >= 0 && src_is_saving() && is_baseline)
		err = save_records(applet, mode);

	if (looked >= 0 && err >= 0 && !(looked & LOOK_SILENT) && (!is_baseline || frame->is_only))
		err = out_frame_end(out);
	int saved = src_frame_end();

	if (looked < 0)
		return looked;
	if (err < 0)
		return err;
	return saved < 0 ? saved : looked;
}

static int look_frames(const struct applet *applet, const struct mode *mode, struct out *out)
{
	uint64_t reports = 0, due_ns = 0;
	bool is_first = true;
	int err;

	while ((err = src_frame_begin()) > 0) {
		bool is_last = interrupted;

		if (is_first) {
			due_ns = src_frame()->monotonic_ns;
			begin_redaction();
		}
		if (src_frame()->is_only)
			out_missing(out, "one frame only: rates need two");
		err = one_frame(applet, mode, out, is_first);
		if (err < 0)
			return err;
		reports += !is_first;
		if ((err & LOOK_LAST) || is_last || reports >= shared.count)
			return 0;
		is_first = false;
		if (!src_is_live())
			continue;
		uint64_t now_ns = src_now_ns();

		while (due_ns <= now_ns)
			due_ns += shared.interval_ns;
		wait_until(mode, due_ns);
	}
	return err;
}

static int run_once(const struct applet *applet, const struct mode *mode, struct out *out)
{
	int err = src_frame_begin();

	if (err == 0)
		return fail(ENODATA, "%s: no frame in it", choices.root);
	if (err < 0)
		return err;
	begin_redaction();
	out_frame_begin(out, src_frame()->realtime_ns);
	err = mode->run(out);
	if (err >= 0 && src_is_saving())
		err = save_records(applet, mode);
	if (err >= 0)
		err = out_frame_end(out);
	if (src_frame()) {
		int saved = src_frame_end();

		if (err >= 0 && saved < 0)
			err = saved;
	}
	return err;
}

static int finish(const struct applet *applet, struct out *out, int err)
{
	int status = out_status(out);

	if (src_garbled())
		out_missing(out, "%s", src_garbled_text());
	/* what went wrong is said before closing can fail too */
	if (err < 0 && err != -EPIPE)
		complain(applet);
	int closed = out_close(out);
	const int kept = close_outfile(err < 0 ? err : closed);

	if (err >= 0 && closed >= 0)
		closed = kept;
	screen_close();
	if (err >= 0 && closed < 0) {
		err = closed;
		if (err != -EPIPE)
			complain(applet);
	}
	if (err < 0 && err != -EPIPE && (status != 1 || err == -ENOSPC))
		status = 3;
	else if (status == 0 && src_garbled())
		status = 3;
	return status == 1 && choices.exit_zero ? 0 : status;
}

/* 2 for what the person typed, 3 for what the system refused. */
static int refuse(const struct applet *applet, int err)
{
	if (err != -EINVAL)
		return complain(applet), 3;
	complain_about(applet->name, true);
	return 2;
}

int loop_run(const struct applet *applet, const struct mode *mode, int argc, char **argv)
{
	struct out *out = NULL;
	int err = check_choices(mode);

	if (err >= 0)
		err = parse_interval(mode, &argc, argv);
	if (err >= 0)
		err = open_output(applet, mode, &out);
	if (err < 0)
		return refuse(applet, err);
	err = choices.root ? src_open_root(choices.root) : src_open_live();
	if (err < 0) {
		complain(applet);
		out_close(out);
		close_outfile(-EIO);
		screen_close();
		return 3;
	}
	catch_signals();
	err = mode->start ? mode->start(argc, argv) : 0;
	if (err >= 0 && choices.save)
		err = src_save(choices.save, shared.keep_frames) < 0 ? -EIO : 0;
	if (err < 0) {
		int status = refuse(applet, err);

		if (mode->stop)
			mode->stop();
		out_close(out);
		close_outfile(-EIO);
		screen_close();
		return src_close(), status;
	}
	err = mode->look ? look_frames(applet, mode, out) : run_once(applet, mode, out);
	if (mode->stop)
		mode->stop();
	int status = finish(applet, out, err);

	src_close();
	return status;
}
