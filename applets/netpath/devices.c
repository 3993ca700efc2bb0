/* The devices of a namespace, and which are the two ends of one veth. */
#include "applets/netpath/netpath.h"

#include <string.h>

#include "applets/netpath/devices.h"
#include "common/kernel/ethtool.h"

#define ELSEWHERE_MAX 256              /* far ends asked for one by one */
#define DRIVERS_MAX 64

size_t netpath_links(const struct space *s, const struct link **links)
{
	const struct devices *d = s->data[LAYER_LINK];

	*links = d ? d->links : NULL;
	return d ? d->count : 0;
}

static size_t position(const struct devices *d, uint32_t ifindex)
{
	for (size_t i = 0; d && i < d->count; i++)
		if (d->links[i].index == ifindex)
			return i;
	return SIZE_MAX;
}

const struct link *netpath_link(const struct space *s, uint32_t ifindex)
{
	const struct devices *d = s->data[LAYER_LINK];
	const size_t at = position(d, ifindex);

	return at == SIZE_MAX ? NULL : &d->links[at];
}

const struct link *netpath_link_named(const struct space *s, const char *name)
{
	const struct devices *d = s->data[LAYER_LINK];

	for (size_t i = 0; d && i < d->count; i++)
		if (!strcmp(d->links[i].name, name))
			return &d->links[i];
	return NULL;
}

static bool is_pair(const struct link *l)
{
	return l->kind && !strcmp(l->kind, "veth") && l->below;
}

const struct link *devices_elsewhere(const struct devices *d, uint32_t ifindex)
{
	const size_t at = position(d, ifindex);

	return at == SIZE_MAX || !d->elsewhere || !d->elsewhere[at].index ? NULL :
		&d->elsewhere[at];
}

/* far: what the kernel said of it when asked from l's namespace; NULL: it did not. */
static bool is_far_end(const struct link *l, const struct link *other, const struct link *far)
{
	if (!is_pair(other) || other->index != l->below || other->below != l->index ||
	    other->below_netns == NA_U64)
		return false;
	return !far || (!strcmp(far->name, other->name) && text_equals(far->address,
								       other->address));
}

const struct link *netpath_peer(const struct look *look, const struct space *s,
				const struct link *l, size_t *space)
{
	const struct devices *d = s->data[LAYER_LINK];
	const struct link *far = devices_elsewhere(d, l->index), *only = NULL;
	size_t found = 0;

	*space = NO_SPACE;
	if (!is_pair(l))
		return NULL;
	if (l->below_netns == NA_U64) {
		*space = (size_t)(s - look->spaces);
		return netpath_link(s, l->below);
	}
	for (size_t i = 0; i < look->space_count; i++) {
		const struct link *other = netpath_link(&look->spaces[i], l->below);

		if (&look->spaces[i] == s || !other || !is_far_end(l, other, far))
			continue;
		only = other;
		*space = i;
		found++;
	}
	if (found == 1)
		return only;
	*space = NO_SPACE;             /* none, or no telling which */
	return far;
}

void netpath_follow(struct look *look, struct space *other, const struct link *links,
		    size_t count)
{
	for (size_t i = 0; i < look->space_count; i++) {
		const struct space *s = &look->spaces[i];
		const struct devices *d = s->data[LAYER_LINK];

		for (size_t k = 0; d && !s->is_followed && k < d->count; k++) {
			const struct link *l = &d->links[k];
			const struct link *far = devices_elsewhere(d, l->index);

			if (!is_pair(l) || l->below_netns == NA_U64 || !netpath_wants(s, l))
				continue;
			for (size_t n = 0; n < count; n++) {
				if (!is_far_end(l, &links[n], far))
					continue;
				if (!other->follows)
					other->follows = arena_alloc(&look->arena, (count + 1) *
								     sizeof(*other->follows));
				if (other->follow_count < count)
					other->follows[other->follow_count++] = links[n].index;
			}
		}
	}
}

/* ---- reading ---- */

/* What the far ends are like and have counted, by the id this namespace has for theirs. */
static void read_elsewhere(struct look *look, struct space *s, struct devices *d)
{
	size_t asked = 0;

	for (size_t i = 0; i < d->count && asked < ELSEWHERE_MAX; i++) {
		const struct link *l = &d->links[i];

		if (!is_pair(l) || l->below_netns == NA_U64 || !netpath_wants(s, l))
			continue;
		if (!d->elsewhere)
			d->elsewhere = arena_alloc(&look->arena,
						   d->count * sizeof(*d->elsewhere));
		asked++;
		/* it may be out of our reach, or of this kernel's */
		if (link_read_elsewhere(&look->arena, l->below_netns, l->below,
					&d->elsewhere[i]) < 0)
			d->elsewhere[i].index = 0;
	}
}

/* A device of the bus, or a veth with XDP, whose counters the driver has. */
static bool has_driver(const struct link *l)
{
	return (!l->kind && !l->is_loopback) || l->xdp != LINK_XDP_NONE;
}

static void read_driver(struct look *look, const struct link *l, struct driver *r)
{
	struct ethtool_link link;

	*r = (struct driver){ .speed_bits = NA_U64, .is_full_duplex = -1,
			      .rings = { NA_U64, NA_U64, NA_U64, NA_U64 }, .is_read = true };
	if (ethtool_read_link(l->name, &link) >= 0) {
		r->speed_bits = link.bits_per_second;
		r->is_full_duplex = link.is_full_duplex;
	}
	/* what a driver has none of is unknown, and no error */
	ethtool_read_rings(l->name, &r->rings);
	if (ethtool_read_stats(&look->arena, l->name, &r->stats, &r->stat_count) < 0)
		r->stat_count = 0;
}

static void read_drivers(struct look *look, struct space *s, struct devices *d)
{
	size_t asked = 0;

	for (size_t i = 0; i < d->count && asked < DRIVERS_MAX; i++) {
		const struct link *l = &d->links[i];

		if (!has_driver(l) || !netpath_wants(s, l))
			continue;
		if (!d->drivers)
			d->drivers = arena_alloc(&look->arena, d->count * sizeof(*d->drivers));
		read_driver(look, l, &d->drivers[i]);
		asked++;
	}
}

const struct driver *devices_driver(const struct devices *d, uint32_t ifindex)
{
	const size_t at = position(d, ifindex);

	return at == SIZE_MAX || !d->drivers || !d->drivers[at].is_read ? NULL : &d->drivers[at];
}

int devices_read(struct out *out, struct look *look, struct space *s)
{
	struct devices *d = arena_alloc(&look->arena, sizeof(*d));

	if (links_read(&look->arena, &d->links, &d->count) < 0) {
		out_missing(out, "%s", fail_text());
		return 0;
	}
	s->data[LAYER_LINK] = d;
	read_elsewhere(look, s, d);
	read_drivers(look, s, d);
	return 0;
}
