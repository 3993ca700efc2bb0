/* Sockets summed up by destination, and which of them are new: nothing is kept per socket but four
 * bytes. */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "applets/portrange/portrange.h"
#include "common/base/hash.h"

#define TUPLES_MAX 65536u
#define SEEN_MAX (1u << 20)            /* slots for sockets, at most three quarters in use */
#define SEEN_MIN 1024u
#define EMPTY 0u

/* By key: place in portrange.tuples + 1. */
static uint32_t *places;
static size_t place_count;

/* Of sockets: 32 bits of a hash of the cookie, which outlives the change to TIME_WAIT. */
struct seen {
	uint32_t *slots;
	size_t used, size;
};
static struct seen seen_now, seen_before;

static size_t place_of(const struct tuple_key *key)
{
	size_t i = hash_bytes(key, sizeof(*key)) & (place_count - 1);

	while (places[i] && memcmp(&portrange.tuples[places[i] - 1].key, key, sizeof(*key)) != 0)
		i = (i + 1) & (place_count - 1);
	return i;
}

static void index_again(size_t size)
{
	if (size != place_count) {
		free(places);
		places = mem_alloc(size * sizeof(*places));
		place_count = size;
	} else {
		memset(places, 0, size * sizeof(*places));
	}
	for (size_t i = 0; i < portrange.tuple_count; i++)
		places[place_of(&portrange.tuples[i].key)] = (uint32_t)i + 1;
}

static uint32_t active(const struct tuple *t)
{
	return t->established + t->syn_sent + t->closing;
}

static uint32_t held(const struct tuple *t)
{
	return active(t) + t->time_wait - t->reusable;
}

bool tuple_is_there(const struct tuple *t)
{
	return active(t) || t->time_wait;
}

static void forget_gone(void)
{
	size_t kept = 0;

	for (size_t i = 0; i < portrange.tuple_count; i++) {
		const struct tuple *t = &portrange.tuples[i];

		if (!tuple_is_there(t))
			continue;
		portrange.tuples[kept++] = (struct tuple){ .key = t->key,
							   .active_before = active(t),
							   .held_before = held(t) };
	}
	portrange.tuple_count = kept;
}

void tuples_begin(void)
{
	struct seen spare = seen_before;

	forget_gone();
	index_again(place_count ? place_count : 256);
	seen_before = seen_now;
	seen_now = spare;
	seen_now.used = 0;
	if (seen_now.slots)
		memset(seen_now.slots, 0, seen_now.size * sizeof(*seen_now.slots));
	portrange.tuples_left_out = 0;
	portrange.has_lost_rates = false;
}

struct tuple *tuples_find(const struct tuple_key *key)
{
	size_t at = place_of(key);

	if (places[at])
		return &portrange.tuples[places[at] - 1];
	if (portrange.tuple_count == TUPLES_MAX) {
		portrange.tuples_left_out++;
		return NULL;
	}
	portrange.tuples = mem_grow(portrange.tuples, &portrange.tuple_cap,
				    portrange.tuple_count + 1, sizeof(*portrange.tuples));
	struct tuple *t = &portrange.tuples[portrange.tuple_count++];

	*t = (struct tuple){ .key = *key };
	if (portrange.tuple_count > place_count / 2)
		index_again(place_count * 2);
	else
		places[at] = (uint32_t)portrange.tuple_count;
	return t;
}

/* ---- which sockets are new ---- */

static uint32_t *seen_slot(const struct seen *s, uint32_t mark)
{
	size_t i = mark & (s->size - 1);

	while (s->slots[i] != EMPTY && s->slots[i] != mark)
		i = (i + 1) & (s->size - 1);
	return &s->slots[i];
}

static void seen_grow(struct seen *s, size_t size)
{
	struct seen larger = { mem_alloc(size * sizeof(uint32_t)), s->used, size };

	for (size_t i = 0; i < s->size; i++)
		if (s->slots[i] != EMPTY)
			*seen_slot(&larger, s->slots[i]) = s->slots[i];
	free(s->slots);
	*s = larger;
}

static void seen_add(struct seen *s, uint32_t mark)
{
	if (s->used >= s->size / 4 * 3) {
		if (s->size == SEEN_MAX) {
			portrange.has_lost_rates = true;
			return;
		}
		seen_grow(s, s->size ? s->size * 2 : SEEN_MIN);
	}
	uint32_t *slot = seen_slot(s, mark);

	s->used += *slot == EMPTY;
	*slot = mark;
}

bool tuples_is_fresh(uint32_t space, uint64_t cookie)
{
	/* cookies were counted per namespace before 5.10 */
	uint64_t mixed = (cookie ^ (uint64_t)space << 48) * 0x9e3779b97f4a7c15ull;
	uint32_t mark = (uint32_t)(mixed >> 32);

	mark += mark == EMPTY;
	seen_add(&seen_now, mark);
	return !seen_before.size || *seen_slot(&seen_before, mark) == EMPTY;
}

void tuples_free(void)
{
	free(portrange.tuples);
	free(places);
	free(seen_now.slots);
	free(seen_before.slots);
	places = NULL;
	place_count = 0;
	seen_now = seen_before = (struct seen){ 0 };
}

/* ---- what becomes of one ---- */

static bool is_loopback(uint8_t family, const uint8_t *address)
{
	static const uint8_t one[16] = { [15] = 1 };

	return family == AF_INET ? address[0] == 127 : !memcmp(address, one, sizeof(one));
}

/*
 * tcp_twsk_unique (net/ipv4/tcp_ipv4.c): 1 for all, 2 for loopback, and only where the connection
 * had timestamps. An unknown setting counts as the one that raises no alarm.
 */
bool tuple_is_reused(const struct tuple_key *key, const struct space *space)
{
	if (space->timestamps == 0 || space->reuse == 0)
		return false;
	return space->reuse != 2 || is_loopback(key->family, key->source) ||
		is_loopback(key->family, key->destination);
}

/*
 * Of connections that ended in the interval those that went into TIME_WAIT here hold their port
 * on; those that the other side closed first don't.
 */
static double share_held(const struct tuple *t, const struct outlook *o)
{
	int64_t ended = (int64_t)t->active_before + t->fresh - (int64_t)o->active;

	if (ended <= 0)
		return 1;
	return t->fresh_time_wait < ended ? (double)t->fresh_time_wait / (double)ended : 1;
}

static void forecast(const struct tuple *t, struct outlook *o)
{
	double interval_s = (double)portrange.interval_ns / 1e9;

	o->connects_per_second = rate_of(t->fresh, portrange.interval_ns);
	o->holds_per_second = o->connects_per_second * share_held(t, o);
	o->need_ports = (double)o->active + o->holds_per_second * (double)o->hold_ns / 1e9;
	o->growth_per_second = ((double)o->held - t->held_before) / interval_s;
	bool is_filling = o->active > t->active_before || o->need_ports >= (double)o->usable;

	/* connections that could not be made are not seen */
	if (!o->free && o->need_ports < (double)o->usable)
		o->need_ports = NA_F64;
	if (!o->free)
		o->left_ns = 0;
	else if (o->growth_per_second > 0 && is_filling)
		o->left_ns = (double)o->free / o->growth_per_second * 1e9;
}

void tuple_outlook(const struct tuple *t, struct outlook *o)
{
	const struct space *space = &portrange.spaces[t->key.space];
	uint64_t own = held(t) > t->on_whole ? held(t) - t->on_whole : 0;
	uint64_t taken = space->whole_ports + own;

	*o = (struct outlook){
		.usable = space->ports.count,
		.free = taken < space->ports.count ? space->ports.count - taken : 0,
		.active = active(t),
		.held = held(t),
		.is_reused = tuple_is_reused(&t->key, space),
		.connects_per_second = NA_F64,
		.holds_per_second = NA_F64,
		.need_ports = NA_F64,
		.growth_per_second = NA_F64,
		.left_ns = NA_F64,
	};
	o->fill_ratio = ratio_of(o->usable - o->free, o->usable);
	o->hold_ns = o->is_reused ? space->reuse_delay_ns : TIME_WAIT_NS;
	if (space->had_tcp && portrange.interval_ns && !portrange.has_lost_rates)
		forecast(t, o);
}
