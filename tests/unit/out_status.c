/* report/out: remarks on stderr, exit status, write errors, collecting. */
#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "common/report/redact.h"
#include "tests/unit/report.h"

/* What `say` printed on stderr. The caller frees it. */
static char *on_stderr(void (*say)(struct out *), struct out *o)
{
	FILE *file = tmpfile();
	int saved = dup(STDERR_FILENO);
	char *text = calloc(1, 65536);

	fflush(stderr);
	dup2(fileno(file), STDERR_FILENO);
	say(o);
	fflush(stderr);
	dup2(saved, STDERR_FILENO);
	close(saved);
	rewind(file);
	size_t len = fread(text, 1, 65535, file);

	text[len] = '\0';
	fclose(file);
	return text;
}

static void say_things(struct out *o)
{
	for (int i = 0; i < 3; i++) {
		out_note(o, "engine is %s", "procfs\n\033");
		out_missing(o, "can't read /proc/%d", 7);
		out_note(o, "can't read /proc/%d", 7);
	}
}

static void say_much(struct out *o)
{
	for (int i = 0; i < 5000; i++)
		out_note(o, "remark %d", i);
	out_missing(o, "still counts");
}

static void check_remarks(void)
{
	const struct out_remark *list;
	struct printed p;

	print_to_memory(&p, (struct out_config){ .applet = "listenq" });
	char *text = on_stderr(say_things, p.out);

	CHECK_STR(text, "perfbox listenq: engine is procfs\\x0a\\x1b\n"
		  "perfbox listenq: can't read /proc/7\nperfbox listenq: can't read /proc/7\n");
	CHECK(out_remarks(p.out, &list) == 3 && list[1].is_missing && !list[2].is_missing);
	free(text);
	printed_text(&p);
	printed_free(&p);

	print_to_memory(&p, (struct out_config){ .applet = "listenq", .quiet = true });
	text = on_stderr(say_things, p.out);
	CHECK_STR(text, "perfbox listenq: can't read /proc/7\n");
	free(text);
	printed_text(&p);
	printed_free(&p);

	print_to_memory(&p, (struct out_config){ .applet = "listenq" });
	text = on_stderr(say_much, p.out);
	CHECK(strstr(text, "remark 255\n") && !strstr(text, "remark 257\n") &&
	      strstr(text, "left out\n"));
	CHECK(out_is_incomplete(p.out) && out_status(p.out) == 3);
	free(text);
	printed_text(&p);
	printed_free(&p);
}

static int status_of(unsigned states, enum finding_state state, bool found, bool missing)
{
	struct printed p;

	print_to_memory(&p, (struct out_config){ .states = states, .quiet = true });
	out_frame_begin(p.out, TEST_TIME);
	if (found)
		add_test_finding(p.out, state, "x");
	if (missing)
		free(on_stderr(say_things, p.out));
	CHECK(out_frame_end(p.out) == 0);
	out_frame_begin(p.out, TEST_TIME);      /* a clean frame does not undo it */
	CHECK(out_frame_end(p.out) == 0);
	int status = out_status(p.out);

	printed_text(&p);
	printed_free(&p);
	return status;
}

static void check_status(void)
{
	unsigned all = 1u << STATE_NOW | 1u << STATE_PAST | 1u << STATE_RISK;

	CHECK(status_of(all, STATE_NOW, false, false) == 0);
	CHECK(status_of(all, STATE_NOW, true, false) == 1);
	CHECK(status_of(all, STATE_NOW, true, true) == 1);
	CHECK(status_of(all, STATE_NOW, false, true) == 3);
	CHECK(status_of(1u << STATE_NOW, STATE_RISK, true, false) == 0);
	CHECK(status_of(1u << STATE_NOW, STATE_RISK, true, true) == 3);
	CHECK(status_of(0, STATE_PAST, true, false) == 1);
	CHECK(status_of(~0u, STATE_NOTE, true, false) == 0);
}

static void fill(struct out *o, int rows)
{
	out_frame_begin(o, TEST_TIME);
	for (int i = 0; i < rows; i++) {
		struct thread_row row = known_row((uint64_t)i, 0.5, "x");

		out_row(o, &threads_table, &row);
	}
}

static void check_write_errors(enum out_format format, int rows)
{
	struct out_config config = { .applet = "x", .format = format, .tables = test_tables,
				    .top = 0 };
	int pipe_ends[2];
	struct out *o;

	config.to = fopen("/dev/full", "w");
	if (!config.to) {
		check_skip("ENOSPC", "no /dev/full");
		return;
	}
	CHECK(out_open(&config, &o) == 0);
	fill(o, rows);
	CHECK(out_frame_end(o) == (format == OUT_OPENMETRICS ? 0 : -ENOSPC));
	CHECK(format == OUT_OPENMETRICS || out_status(o) == 3);
	CHECK(out_close(o) == -ENOSPC);
	CHECK_STR(fail_text(), "writing the output: No space left on device");
	fclose(config.to);

	CHECK(pipe(pipe_ends) == 0);
	close(pipe_ends[0]);
	config.to = fdopen(pipe_ends[1], "w");
	CHECK(out_open(&config, &o) == 0);
	fill(o, rows);
	CHECK(out_frame_end(o) == (format == OUT_OPENMETRICS ? 0 : -EPIPE));
	CHECK(out_status(o) == 0);
	CHECK(out_close(o) == -EPIPE);
	fclose(config.to);

	config.to = fopen("/dev/null", "r");
	CHECK(out_open(&config, &o) == 0);
	fill(o, rows);
	CHECK(out_frame_end(o) == (format == OUT_OPENMETRICS ? 0 : -EBADF));
	CHECK(out_close(o) == -EBADF);
	fclose(config.to);
}

static void check_collecting(void)
{
	const struct out_remark *remarks;
	const char *const *histories;
	struct finding **findings;
	struct out *o = out_collect("cpuwait");

	fill(o, 3);
	out_host(o, "x");
	out_line(o, "x", "y");
	add_test_finding(o, STATE_RISK, "b");
	add_test_finding(o, STATE_NOW, "a");
	out_history(o, "%d once", 5);
	CHECK(out_frame_end(o) == 0);
	CHECK(out_findings(o, &findings) == 2 && !strcmp(findings[0]->subject, "b"));
	CHECK(out_histories(o, &histories) == 1 && !strcmp(histories[0], "5 once"));
	CHECK(out_states_seen(o) == (1u << STATE_RISK | 1u << STATE_NOW) && out_status(o) == 1);
	char *text = on_stderr(say_things, o);

	CHECK_STR(text, "perfbox cpuwait: can't read /proc/7\n");
	free(text);
	CHECK(out_remarks(o, &remarks) == 3);
	CHECK_STR(remarks[0].text, "engine is procfs\n\033");
	out_frame_begin(o, TEST_TIME);
	CHECK(out_findings(o, &findings) == 0 && out_histories(o, &histories) == 0);
	CHECK(out_remarks(o, &remarks) == 3 && out_is_incomplete(o));
	CHECK(out_close(o) == 0);
	CHECK(out_close(NULL) == 0);
}

static void check_past(void)
{
	for (int past = 0; past < 2; past++) {
		struct printed p;

		print_to_memory(&p, (struct out_config){ .past = past, .width = 60 });
		out_frame_begin(p.out, TEST_TIME);
		for (int i = 0; i < 5; i++)
			out_history(p.out, "counter%d 1234567", i);
		CHECK(out_frame_end(p.out) == 0);
		CHECK_STR(printed_text(&p), past ?
			"history     counter0 1234567\n            counter1 1234567\n"
			"            counter2 1234567\n            counter3 1234567\n"
			"            counter4 1234567\n" :
			"history     counter0 1234567, 4 more (--past)\n");
		printed_free(&p);
	}
}

/* No name is left in any format. */
static void check_redaction(void)
{
	redact_on("00010203-0405-0607-0809-0a0b0c0d0e0f");
	for (enum out_format f = OUT_PEOPLE; f <= OUT_OPENMETRICS; f++) {
		struct printed p;

		print_to_memory(&p, (struct out_config){ .format = f, .width = 200 });
		out_frame_begin(p.out, TEST_TIME);
		struct thread_row row = known_row(7, 0.5, "secret");

		row.pod = "secret-pod";
		row.cgroup = "/system.slice/secret.service";
		out_row(p.out, &threads_table, &row);
		struct finding *finding = add_test_finding(p.out, STATE_NOW, "x");

		finding_text(finding, "owner", NAME_USER, "secret");
		CHECK(out_frame_end(p.out) == 0);
		const char *text = printed_text(&p);

		CHECK(!strstr(text, "secret") && strstr(text, "command-"));
		CHECK(f == OUT_OPENMETRICS || strstr(text, "/system.slice/cgroup-"));
		CHECK(f != OUT_JSON || strstr(text, "\"owner\":\"user-"));
		printed_free(&p);
	}
	redact_on(NULL);
}

int main(void)
{
	signal(SIGPIPE, SIG_IGN);
	check_remarks();
	check_status();
	for (enum out_format f = OUT_PEOPLE; f <= OUT_OPENMETRICS; f++) {
		check_write_errors(f, 1);
		check_write_errors(f, 5000);
	}
	check_collecting();
	check_past();
	check_redaction();
	return check_done("out_status");
}
