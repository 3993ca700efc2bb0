/* Taking a plan's steps: each is in the journal, on disk, before it is written, and read back. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "applets/irqbind/irqbind.h"
#include "common/kernel/setting.h"
#include "common/kernel/source.h"
#include "common/report/redact.h"

#define PLAN_FILE_MAX (16u << 20)

struct apply_options apply_options = { .guard_ns = NA_U64 };

struct plan_row {
	uint64_t step;
	const char *subject, *path, *old_value, *new_value, *result, *why;
};

static const struct column plan_columns[] = {
	COL(struct plan_row, step, "STEP", ROLE_KEY, UNIT_ID, "in the order they are taken"),
	COL(struct plan_row, path, "PATH", ROLE_KEY, UNIT_TEXT,
	    "the file; ring/...: no file, but the driver is told"),
	COL(struct plan_row, old_value, "OLD", ROLE_TEXT, UNIT_TEXT, "what stands there"),
	COL(struct plan_row, new_value, "NEW", ROLE_TEXT, UNIT_TEXT, "what is to stand there"),
	COL_NAME_IF_ANY(struct plan_row, result, "RESULT", ROLE_TEXT, NAME_PLAIN,
			"of --apply and --rollback: done, or why not"),
	COL(struct plan_row, subject, NULL, ROLE_TEXT, UNIT_TEXT, "interface and queue"),
	COL_NAME_IF_ANY(struct plan_row, why, "WHY", ROLE_TEXT, NAME_PLAIN, "why"),
};
static const struct table plan_table = { .name = "plan",
					 .help = "a step",
					 TABLE(struct plan_row, plan_columns) };
const struct table *const irqbind_plan_tables[] = { &plan_table, NULL };

static struct {
	enum policy policy;
	bool is_policy;
	struct plan plan;
	const char *what;              /* the words, for the journal */
} applied;

/* ---- plans ---- */

static const char *shown_path(struct arena *a, const char *path)
{
	return setting_kind_of(path) == SETTING_RING ? path : arena_printf(a, "/%s", path);
}

static void show_step(struct out *out, size_t number, const struct plan_step *s, const char *result)
{
	const struct plan_row row = {
		.step = number,
		.subject = s->subject,
		.path = shown_path(out_arena(out), s->path),
		.old_value = s->old,
		.new_value = s->new,
		.result = result,
		.why = s->why,
	};

	out_row(out, &plan_table, &row);
}

void plan_show(struct out *out, const struct plan *p)
{
	for (size_t i = 0; i < p->count; i++)
		show_step(out, i + 1, &p->steps[i], NULL);
	if (!p->count)
		out_note(out, "nothing to do: all is as planned");
}

/* A file that was named, or - for standard input. */
static int read_plan(const char *name, struct plan *p)
{
	struct buf b = { 0 };
	int fd = strcmp(name, "-") ? open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY) : STDIN_FILENO;
	ssize_t n = 1;

	if (fd < 0)
		return fail_errno(errno, "%s: neither a policy nor a plan", name);
	while (n > 0 && b.len <= PLAN_FILE_MAX) {
		buf_reserve(&b, 65536);
		n = read(fd, b.data + b.len, 65536);
		b.len += n > 0 ? (size_t)n : 0;
	}
	int err = n < 0 ? fail_errno(errno, "%s", name) :
		b.len > PLAN_FILE_MAX ? fail(EFBIG, "%s: too large for a plan", name) :
		plan_parse(&irqbind.run, buf_text(&b), p);

	if (fd != STDIN_FILENO)
		close(fd);
	buf_free(&b);
	return err;
}

int apply_start(int argc, char **argv)
{
	if (argc < 2)
		return fail(EINVAL, "--apply needs a policy, or a plan that --plan --tsv printed");
	if (!apply_options.journal)
		return fail(EINVAL, "--apply needs --journal DIR, to be able to go back");
	if (apply_options.guard_ns == 0)
		return fail(EINVAL, "--guard: 0 seconds guard nothing");
	applied.is_policy = policy_parse(argv[1], &applied.policy);
	applied.what = argv[1];
	if (applied.is_policy)
		return plan_check(argc - 1, argv + 1, &applied.policy);
	if (argc > 2)
		return fail(EINVAL, "unexpected word '%s': a plan says itself what it is for",
			    argv[2]);
	if (plan_options.cpus || plan_options.exclude || plan_options.map || plan_options.ring ||
	    plan_options.sysctls.count)
		return fail(EINVAL, "--cpus, --exclude, --map, --ring and --sysctl make a plan: "
				    "this one is made");
	return read_plan(argv[1], &applied.plan);
}

/* ---- who and where ---- */

const char *host_boot_id(void)
{
	struct text t;

	if (src_read("proc/sys/kernel/random/boot_id", &t) < 0)
		return "-";
	while (t.len && t.data[t.len - 1] == '\n')
		t.len--;
	return t.len ? arena_text(&irqbind.run, t) : "-";
}

const char *host_name(void)
{
	const char *host = src_uname()->host;

	return host ? host : "-";
}

int journal_check_host(const struct journal *j)
{
	if (strcmp(j->host, host_name()) != 0)
		return fail(EXDEV, "the journal is of another host, %s",
			    redact_name(&irqbind.run, NAME_HOST, j->host));
	if (strcmp(j->boot_id, host_boot_id()) != 0)
		return fail(EXDEV, "the journal is of another boot: what it changed is gone "
				   "already");
	return 0;
}

/* Of IRQs alone: it does not touch the rest. */
static int check_irqbalance(const struct plan *p)
{
	struct irqbalance b;
	struct buf bans = { 0 };

	for (size_t i = 0; i < p->count; i++) {
		const uint64_t irq = setting_irq_of(p->steps[i].path);

		if (irq != NA_U64)
			buf_printf(&bans, " --banirq=%llu", (unsigned long long)irq);
	}
	irqbalance_find(src_arena(), true, &b);
	int err = !bans.len || !b.pid || apply_options.is_forced ? 0 :
		fail(EBUSY, "irqbalance runs (PID %u) and would move these interrupts again: stop "
			    "it, or start it with%s (now told to leave: %s), or --force",
		     b.pid, bans.data, b.bans ? b.bans : "nothing");

	buf_free(&bans);
	return err;
}

/* ---- a step ---- */

static const char *why_refused(int err, const char *path)
{
	const bool is_irq = setting_irq_of(path) != NA_U64;

	if (is_irq && (err == -EIO || err == -EPERM))
		return "managed: the kernel alone places it";
	if (is_irq && err == -ENOSPC)
		return "that CPU has no interrupt vector left";
	if (err == -EINVAL)
		return is_irq ? "none of these CPUs is online" : "not a value the kernel takes";
	if (err == -EOVERFLOW)
		return "a CPU this host can't have";
	if (err == -ENOENT || err == -ENODEV)
		return "gone";
	return NULL;
}

struct run {
	struct out *out;
	struct journal_file file;
	size_t journalled;             /* steps in the journal */
	size_t failed;
	const char *boot_id;
	struct buf line;
};

static int append(struct run *r)
{
	int err = journal_append(&r->file, &r->line);

	buf_reset(&r->line);
	return err;
}

/* How it ended: "done" or the reason; *is_failed. -errno: the journal can't be written, stop. */
static int write_step(struct run *r, const struct plan_step *s, const char *old,
		      const char **result)
{
	const enum setting_kind kind = setting_kind_of(s->path);
	const struct journal_step step = { .realtime_ns = src_frame()->realtime_ns,
					   .path = s->path,
					   .old = old,
					   .new = s->new };
	struct arena *a = out_arena(r->out);
	const size_t number = ++r->journalled;
	const char *now;
	bool is_refused;

	journal_add_step(&r->line, number, r->boot_id, &step);
	int err = append(r);

	if (err < 0)
		return err;
	err = setting_write(s->path, s->new, &is_refused);
	if (err < 0) {
		const char *why = is_refused ? why_refused(err, s->path) : NULL;

		*result = why ? arena_printf(a, "%s: %s", why, strerrorname_np(-err))
			      : strerrordesc_np(-err);
		if (!*result)
			*result = "refused";
		journal_add_failed(&r->line, number, src_frame()->realtime_ns, -err);
		r->failed++;
		out_missing(r->out, "%s: %s", shown_path(a, s->path), *result);
		return append(r);
	}
	*result = "done";
	if (setting_read(a, s->path, &now) < 0) {
		*result = "written, but can't be read back";
		r->failed++;
		out_missing(r->out, "%s: %s", *result, fail_text());
		return 0;
	}
	if (!setting_is_same(kind, now, s->new)) {
		*result = arena_printf(a, "the kernel made it %s", now);
		out_note(r->out, "%s: %s", shown_path(a, s->path), *result);
	}
	journal_add_value(&r->line, "done", number, src_frame()->realtime_ns, now);
	return append(r);
}

static int take_step(struct run *r, const struct plan_step *s, const char **result)
{
	const enum setting_kind kind = setting_kind_of(s->path);
	struct arena *a = out_arena(r->out);
	const char *now;

	int err = setting_read(a, s->path, &now);

	if (err < 0) {
		*result = strerrordesc_np(-err);
		out_missing(r->out, "%s", fail_text());
		r->failed++;
		return 0;
	}
	*result = "already so";
	if (setting_is_same(kind, now, s->new))
		return 0;
	if (!setting_is_same(kind, now, s->old) && !apply_options.is_forced) {
		*result = arena_printf(a, "left alone: it is %s now, not %s as when the plan was "
					  "made", now, s->old);
		out_missing(r->out, "%s: %s (--force)", shown_path(a, s->path), *result);
		r->failed++;
		return 0;
	}
	return write_step(r, s, now, result);
}

static int take_all(struct run *r, const struct plan *p)
{
	int err = 0;

	for (size_t i = 0; err >= 0 && i < p->count; i++) {
		const char *result = NULL;

		err = take_step(r, &p->steps[i], &result);
		show_step(r->out, i + 1, &p->steps[i], result ? result : "not written");
		if (r->failed && apply_options.is_all_or_nothing)
			break;
	}
	return err;
}

/* ---- all of it ---- */

static int undo(struct run *r, const char *why)
{
	struct arena *a = &irqbind.run;
	struct text content;
	struct journal j;

	journal_close(&r->file);
	int err = journal_open(&r->file, apply_options.journal, JOURNAL_APPEND, a, &content);

	if (err >= 0)
		err = journal_parse(a, content, &j);
	if (err < 0)
		return err;
	if (journal_undo(r->out, &r->file, &j, a))
		out_missing(r->out, "%s: not all could be put back: perfbox irqbind --rollback %s",
			    why, apply_options.journal);
	else
		out_missing(r->out, "%s: all was put back", why);
	return 0;
}

static int begin_journal(struct run *r)
{
	struct text content;
	int err = journal_open(&r->file, apply_options.journal, JOURNAL_CREATE, &irqbind.run,
			       &content);

	if (err < 0)
		return err;
	journal_add_begin(&r->line, r->boot_id, host_name(), src_frame()->realtime_ns,
			  applied.what);
	return append(r);
}

static int apply_all(struct out *out, const struct plan *p, const struct guard_rates *before)
{
	struct run r = { .out = out, .file = { -1, -1 }, .boot_id = host_boot_id() };
	const char *why = NULL;
	int err = begin_journal(&r);

	if (err >= 0)
		err = take_all(&r, p);
	if (err >= 0 && r.failed && apply_options.is_all_or_nothing) {
		err = undo(&r, "a step failed");
	} else if (err >= 0) {
		journal_add_end(&r.line, "applied", src_frame()->realtime_ns);
		err = append(&r);
		if (err >= 0 && before) {
			err = guard_watch(out, before, &why);
			if (err < 0)
				why = arena_strdup(&irqbind.run, fail_text());
			if (err)
				err = undo(&r, why);
			else
				out_note(out, "guard: nothing got worse; the plan stays in force");
		}
	}
	buf_free(&r.line);
	journal_close(&r.file);
	return err;
}

int apply_run(struct out *out)
{
	const bool is_guarded = apply_options.guard_ns != NA_U64;
	struct guard_rates before;
	int err = look_take(out, is_guarded);

	if (err >= 0 && applied.is_policy)
		err = plan_make(out, &irqbind.run, applied.policy, &applied.plan);
	if (err >= 0)
		err = check_irqbalance(&applied.plan);
	if (err < 0)
		return err;
	if (!applied.plan.count) {
		plan_show(out, &applied.plan);
		return 0;
	}
	err = setting_open();
	if (err >= 0 && is_guarded) {
		err = guard_next_look(out, apply_options.guard_ns);
		if (err > 0)
			out_missing(out, "interrupted before anything was written");
		guard_measure(&before);
	}
	if (err == 0)
		err = apply_all(out, &applied.plan, is_guarded ? &before : NULL);
	setting_close();
	return err < 0 ? err : 0;
}

/* ---- and back ---- */

static const char *directory;

int rollback_start(int argc, char **argv)
{
	if (argc != 2)
		return fail(EINVAL, "--rollback takes the journal's folder");
	directory = argv[1];
	return 0;
}

/* One step back: "put back", "as before already", or why not. 0; 1: not put back; -errno: the
 * journal can't be written. */
static int undo_step(struct out *out, struct journal_file *file, size_t number,
		     const struct journal_step *s, struct arena *a, const char **result)
{
	const enum setting_kind kind = setting_kind_of(s->path);
	struct buf line = { 0 };
	const char *now, *back;
	bool is_refused;

	*result = "as before already";
	int err = setting_read(a, s->path, &now);

	if (err < 0) {
		*result = strerrordesc_np(-err);
		return 1;
	}
	if (setting_is_same(kind, now, s->old))
		return 0;
	if (!setting_is_same(kind, now, s->now ? s->now : s->new) &&
	    !setting_is_same(kind, now, s->new))
		out_note(out, "%s: somebody else made it %s meanwhile (it was written as %s)",
			 shown_path(a, s->path), now, s->new);
	err = setting_write(s->path, s->old, &is_refused);
	if (err < 0) {
		*result = strerrordesc_np(-err);
		return 1;
	}
	if (setting_read(a, s->path, &back) < 0 || !setting_is_same(kind, back, s->old)) {
		*result = "written, but it does not read back";
		return 1;
	}
	*result = "put back";
	journal_add_value(&line, "undone", number, src_frame()->realtime_ns, now);
	err = journal_append(file, &line);

	buf_free(&line);
	return err;
}

size_t journal_undo(struct out *out, struct journal_file *f, const struct journal *j,
		    struct arena *a)
{
	struct buf line = { 0 };
	size_t failed = 0;

	for (size_t i = j->count; i-- > 0;) {
		const struct journal_step *s = &j->steps[i];
		const struct plan_step shown = { s->path, s->new, s->old, NULL, NULL };
		const char *result;

		/* the kernel did not take it */
		if (s->err)
			continue;
		int err = undo_step(out, f, i + 1, s, a, &result);

		if (err < 0)
			out_missing(out, "%s", fail_text());
		if (err > 0)
			out_missing(out, "%s: not put back: %s", shown_path(a, s->path), result);
		failed += err != 0;
		show_step(out, i + 1, &shown, result);
	}
	if (failed)
		return failed;
	journal_add_end(&line, "rolled-back", src_frame()->realtime_ns);
	if (journal_append(f, &line) < 0) {
		out_missing(out, "%s", fail_text());
		failed = 1;
	}
	buf_free(&line);
	return failed;
}

static int roll_back(struct out *out, struct journal_file *f, struct text content)
{
	struct journal j;

	if (!content.len) {
		out_note(out, "%s: nothing was written by it", directory);
		return 0;
	}
	int err = journal_parse(&irqbind.run, content, &j);

	if (err < 0)
		return err;
	if (j.is_rolled_back) {
		out_note(out, "%s: it was rolled back already", directory);
		return 0;
	}
	err = journal_check_host(&j);
	if (err < 0 && !apply_options.is_forced)
		return fail(EXDEV, "%s (--force)", arena_strdup(&irqbind.run, fail_text()));
	err = setting_open();
	if (err >= 0)
		journal_undo(out, f, &j, &irqbind.run);
	setting_close();
	return err;
}

int rollback_run(struct out *out)
{
	struct journal_file f;
	struct text content;
	int err = journal_open(&f, directory, JOURNAL_APPEND, &irqbind.run, &content);

	if (err < 0)
		return err;
	err = roll_back(out, &f, content);
	journal_close(&f);
	return err;
}
