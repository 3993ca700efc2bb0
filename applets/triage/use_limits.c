/* The USE table's open files and threads: they run out by count, and nothing queues for them. */
#include "applets/triage/use_look.h"

#include <string.h>

#include "common/report/redact.h"

#define NO_LIMIT ((uint64_t)INT64_MAX) /* what systemd sets fs.file-max to */

void use_read_limits(struct out *out, struct use_look *now)
{
	struct use_limits *l = &now->limits;

	use_forget(&l->files, sizeof(l->files));
	use_forget(&l->host, sizeof(l->host));
	l->group = (struct pids_group){ NULL, NA_U64, false, NA_U64, NA_U64 };
	if (file_nr_read(&l->files) < 0)
		out_missing(out, "%s", fail_text());
	if (pids_read_host(&l->host) < 0)
		out_missing(out, "%s", fail_text());
	if (pids_read_own_group(&now->arena, &l->group) < 0)
		out_missing(out, "%s", fail_text());
}

static void show_files(struct out *out, const struct file_nr *f)
{
	struct use_row row = use_row("files", "host");

	use_set_used(out, &row, f->open, f->max);
	if (f->open != NA_U64 && f->max != NA_U64 && f->max >= NO_LIMIT)
		row.utilization = use_text(out, "%s, no limit", use_count_text(out, f->open));
	use_add(out, &row);
}

static void show_group(struct out *out, const struct pids_group *before,
		       const struct pids_group *now)
{
	struct use_row row = use_row("threads", "own cgroup");
	bool is_same = now->path && before->path && !strcmp(now->path, before->path);

	if (!now->path)
		return;
	use_set_used(out, &row, now->current, now->has_limit ? now->max : NA_U64);
	if (now->current == NA_U64 && !strcmp(now->path, "/"))
		row.utilization = "the root: not counted";
	else if (row.utilization && now->has_limit)
		row.utilization = use_text(out, "%s in %s", row.utilization,
					   redact_name(out_arena(out), NAME_CGROUP, now->path));
	else if (row.utilization)
		row.utilization = use_text(out, "%s, no limit", row.utilization);
	if (is_same)
		use_set_errors(out, &row, use_moved(now->forks_refused, before->forks_refused),
			       "refused");
	use_add(out, &row);
}

void use_show_limits(struct out *out, const struct use_look *before, const struct use_look *now)
{
	struct use_row row = use_row("threads", "host");

	show_files(out, &now->limits.files);
	use_set_used(out, &row, now->limits.host.threads, now->limits.host.limit);
	use_add(out, &row);
	show_group(out, &before->limits.group, &now->limits.group);
}
