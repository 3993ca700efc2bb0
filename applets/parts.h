/* The looks of other applets, run side by side over the same frames: what triage and compare share.
 */
#ifndef APPLETS_PARTS_H
#define APPLETS_PARTS_H

#include "applets/applet.h"

#define PARTS_MAX 32

struct part {
	const struct applet *applet;
	const struct mode *mode;
	struct out *out;               /* keeps what the look found */
	bool is_started;
	uint64_t poll_ns;              /* when its next sample is due; NA_U64: none is wanted */
	const char *refused; /* why it did not start or its last look failed; NULL: it works */
};

struct parts {
	struct part items[PARTS_MAX];
	size_t count;
};

/* Every mode marked in_triage; or, given an applet and a mode's option ("" the default), that one
 * alone. A part that does not start stays in the list with the reason. -ENOENT: there is no such
 * mode, or it has no looks. */
int parts_start(struct parts *p, const struct applet *only, const char *option);

/* One frame of each. A part whose look fails is not asked again. */
void parts_look(struct parts *p);
/* Takes the samples that are due; as mode->poll. */
uint64_t parts_poll(struct parts *p);
/*
 * Whether another part found the same in its own way this frame (finding.covered_by): of the
 * host, of the finding's subject (a thread of a process), or of the control group that it names as
 * evidence ("cgroup"; without it, of any group).
 */
bool parts_cover(const struct parts *p, const struct finding *f);
void parts_stop(struct parts *p);

#endif
