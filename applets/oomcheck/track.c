/* Memory that can't be taken back, over the looks: is it rising, how fast, since when? */
#include <stdlib.h>
#include <string.h>

#include "applets/oomcheck/oomcheck.h"
#include "common/base/mem.h"
#include "common/kernel/source.h"

#define SPACING_NS 4000000000ull       /* points are at least this far apart ... */
#define POINTS_MAX 16                  /* ... and the latest so many are kept */
#define RUN_LOOKS_MIN 3
#define RUN_NS_MIN 30000000000ull
#define SLACK_SHARE 20                 /* a fall by 1/20 of the rise before is noise */
#define STILL_NS 20000000000ull        /* some memory grows in steps: so long a stop ends a run */

/* Only rises: a fall, or a stop, begins the run anew. The last point moves until it is far enough
 * from the one before. */
struct track_point {
	uint64_t time_ns, bytes, some_ns;
};

static void begin(struct track *t, const struct track_point *now)
{
	t->points = mem_grow(t->points, &t->point_cap, 1, sizeof(*t->points));
	t->points[0] = *now;
	t->point_count = 1;
}

static bool is_broken(const struct track *t, const struct track_point *now)
{
	const struct track_point *first = &t->points[0], *last = &t->points[t->point_count - 1];

	if (now->time_ns <= last->time_ns || now->bytes <= first->bytes)
		return true;
	if (now->bytes <= last->bytes)
		return now->time_ns - last->time_ns >= STILL_NS ||
		       last->bytes - now->bytes > (last->bytes - first->bytes) / SLACK_SHARE;
	return false;
}

void track_add(struct track *t, uint64_t bytes, uint64_t some_ns)
{
	const struct track_point now = { src_frame()->monotonic_ns, bytes, some_ns };

	t->is_rising = false;
	if (bytes == NA_U64 || !now.time_ns) {
		t->point_count = 0;
		return;
	}
	if (!t->point_count || is_broken(t, &now)) {
		begin(t, &now);
		return;
	}
	struct track_point *last = &t->points[t->point_count - 1];

	if (now.bytes <= last->bytes)
		return;
	t->is_rising = true;
	if (t->point_count > 1 && last->time_ns - last[-1].time_ns < SPACING_NS) {
		*last = now;
		return;
	}
	if (t->point_count == POINTS_MAX)
		memmove(t->points, t->points + 1, --t->point_count * sizeof(*t->points));
	t->points = mem_grow(t->points, &t->point_cap, t->point_count + 1, sizeof(*t->points));
	t->points[t->point_count++] = now;
}

static double speed(const struct track_point *from, const struct track_point *to)
{
	return rate_of(delta_u64(to->bytes, from->bytes), delta_u64(to->time_ns, from->time_ns));
}

static double pressure(const struct track_point *from, const struct track_point *to)
{
	return ratio_of(delta_u64(to->some_ns, from->some_ns),
			delta_u64(to->time_ns, from->time_ns));
}

bool track_growth(const struct track *t, struct growth *g)
{
	if (!t->is_rising || t->point_count < RUN_LOOKS_MIN)
		return false;
	const struct track_point *first = &t->points[0], *last = &t->points[t->point_count - 1],
				 *middle = &t->points[t->point_count / 2];

	if (last->time_ns - first->time_ns < RUN_NS_MIN)
		return false;
	double whole = speed(first, last), half = speed(middle, last);

	*g = (struct growth){
		.first_bytes = first->bytes,
		.last_bytes = last->bytes,
		.elapsed_ns = last->time_ns - first->time_ns,
		.points = (unsigned)t->point_count,
		.bytes_per_second = half < whole ? half : whole,
		.some_before_ratio = pressure(first, middle),
		.some_after_ratio = pressure(middle, last),
	};
	return true;
}

void track_free(struct track *t)
{
	free(t->path);
	free(t->stuck);
	free(t->points);
	*t = (struct track){ 0 };
}
