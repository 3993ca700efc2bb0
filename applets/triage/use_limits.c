/*
 * The USE table's descriptors and threads: what runs out by count. Nothing queues for them: there
 * is no saturation.
 */
#include "applets/triage/use_look.h"

#include "common/report/redact.h"

#define NO_LIMIT ((uint64_t)INT64_MAX) /* what systemd sets fs.file-max to */

void use_read_limits(struct out *out, struct use_look *now)
{
	struct use_limits *l = &now->limits;

	*l = (struct use_limits){
		.files = { NA_U64, NA_U64 },
		.host = { NA_U64, NA_U64, NA_U64, NA_U64, NA_U64 },
		.group = { NULL, NA_U64, false, NA_U64, NA_U64 },
	};
	if (file_nr_read(&l->files) < 0)
		out_missing(out, "%s", fail_text());
	if (pids_read_host(&l->host) < 0)
		out_missing(out, "%s", fail_text());
	if (pids_read_own_group(&now->arena, &l->group) < 0)
		out_missing(out, "%s", fail_text());
}

static void show_descriptors(struct out *out, const struct file_nr *f)
{
	struct use_row row = use_row("files", "host");

	if (f->max != NA_U64 && f->max >= NO_LIMIT) {
		use_set_used(out, &row, f->open, NA_U64, "open, no limit");
		row.utilization_ratio = ratio_of(f->open, f->max);
	} else {
		use_set_used(out, &row, f->open, f->max, "");
	}
	use_add(out, &row);
}

static void show_group(struct out *out, const struct pids_group *before,
		       const struct pids_group *now)
{
	struct use_row row = use_row("threads", "own cgroup");
	bool is_same = now->path && before->path && !strcmp(now->path, before->path);

	if (!now->path)
		return;
	if (now->has_limit)
		use_set_used(out, &row, now->current, now->max,
			     redact_name(out_arena(out), NAME_CGROUP, now->path));
	else
		use_set_used(out, &row, now->current, NA_U64, "no limit");
	if (now->current == NA_U64 && !strcmp(now->path, "/"))
		row.utilization = "the root: not counted";
	if (is_same)
		use_set_errors(out, &row, use_moved(now->forks_refused, before->forks_refused),
			       "refused");
	use_add(out, &row);
}

void use_show_limits(struct out *out, const struct use_look *before, const struct use_look *now)
{
	struct use_row row = use_row("threads", "host");

	show_descriptors(out, &now->limits.files);
	use_set_used(out, &row, now->limits.host.threads, now->limits.host.limit, "");
	use_add(out, &row);
	show_group(out, &before->limits.group, &now->limits.group);
}
