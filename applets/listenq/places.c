/*
 * Which listeners stand at one address, and which of them a connection that nobody has yet belongs
 * to.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "applets/listenq/listenq.h"

static int compare(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

/* By namespace, then UNIX last, then port and address: those of one place stand together. */
static int by_place(const struct listener *a, const struct listener *b)
{
	int order = compare(a->space, b->space);

	if (!order)
		order = compare(!a->sock.family, !b->sock.family);
	if (!order && !a->sock.family)
		return strcmp(a->local, b->local);
	if (!order)
		order = compare(a->sock.local.port, b->sock.local.port);
	if (!order)
		order = compare(a->sock.family, b->sock.family);
	if (!order)
		order = memcmp(a->sock.local.address, b->sock.local.address, 16);
	if (!order)
		order = compare(a->sock.interface, b->sock.interface);
	return order ? order : compare(a->sock.is_subflow, b->sock.is_subflow);
}

static int by_place_and_age(const void *a, const void *b)
{
	const struct listener *x = a, *y = b;
	int order = by_place(x, y);

	/* a cookie is given when it is first asked for, so it only keeps them in one order */
	return order ? order : compare(x->sock.cookie, y->sock.cookie);
}

static bool is_any(const struct sock *s)
{
	static const uint8_t zero[16];

	return !memcmp(s->local.address, zero, sizeof(zero));
}

/* The IPv4 address in a v4-mapped one; false if it is none. */
static bool unmap(const uint8_t v6[16], uint8_t v4[16])
{
	static const uint8_t prefix[12] = { [10] = 0xff, [11] = 0xff };

	if (memcmp(v6, prefix, sizeof(prefix)) != 0)
		return false;
	memset(v4, 0, 16);
	memcpy(v4, v6 + 12, 4);
	return true;
}

/* How well a listener fits an address, as the kernel would choose; 0: not at all. */
static unsigned fit(const struct listener *l, const struct connection *c)
{
	const struct sock *s = &l->sock;
	uint8_t mapped[16], of_listener[16];
	bool is_v4 = c->family == AF_INET;
	const uint8_t *address = c->local.address;

	if (!s->family || s->local.port != c->local.port)
		return 0;
	if (!is_v4 && unmap(address, mapped)) {
		is_v4 = true;
		address = mapped;
	}
	if (s->family == AF_INET6 && unmap(s->local.address, of_listener))
		return is_v4 && !memcmp(of_listener, address, 16) ? 4 : 0;
	if ((s->family == AF_INET) == is_v4 && !memcmp(s->local.address, address, 16))
		return 4;
	if (!is_any(s))
		return 0;
	if ((s->family == AF_INET) == is_v4)
		return 3;
	/* a request on a dual listener may be told as IPv6 without an address */
	return s->family == AF_INET6 && is_v4 && s->v6only != 1 ? 2 : 0;
}

/* The place of the listener that the kernel would choose; NULL: none. */
static struct place *find_place(struct look *look, const struct connection *c)
{
	const struct space *s = &look->spaces[c->space];
	struct place *best = NULL;
	unsigned best_fit = 0;

	for (size_t i = s->first; i < s->first + s->listeners; i++) {
		unsigned n = fit(&look->listeners[i], c);

		if (n > best_fit) {
			best_fit = n;
			best = &look->places[look->listeners[i].place];
		}
	}
	return best;
}

static void count_connection(struct look *look, const struct connection *c)
{
	struct place *p = find_place(look, c);

	if (p && c->is_half_open)
		p->syn_received++;
	else if (p && p->gave_up != NA_U64)
		p->gave_up++;
}

static void add_to_place(struct look *look, struct listener *l)
{
	struct place *p = &look->places[l->place];

	p->count++;
	p->queue = sum_u64(p->queue, l->sock.receive_queue);
	p->limit = sum_u64(p->limit, l->sock.send_queue);
	p->dropped = sum_u64(p->dropped, l->dropped);
	p->drops = sum_u64(p->drops, l->sock.drops);
	if (listener_max(l) > p->max || p->count == 1)
		p->max = listener_max(l);
}

void places_make(struct look *look)
{
	if (look->count)
		qsort(look->listeners, look->count, sizeof(*look->listeners), by_place_and_age);
	look->places = arena_alloc(&look->arena, (look->count + 1) * sizeof(*look->places));
	look->place_count = 0;
	for (size_t i = 0; i < look->count; i++) {
		struct listener *l = &look->listeners[i];
		struct space *s = &look->spaces[l->space];

		if (i == 0 || look->listeners[i - 1].space != l->space)
			s->first = i;
		if (i == 0 || by_place(l, &look->listeners[i - 1]) != 0) {
			uint64_t none = s->has_connections && l->sock.family ? 0 : NA_U64;
			/* an MPTCP connection's paths have no inode, accepted or not */
			uint64_t gave_up = l->sock.is_subflow ? NA_U64 : none;

			look->places[look->place_count++] = (struct place){
				.first = i,
				.syn_received = none, .gave_up = gave_up,
				.arrived = NA_U64,
				.refused = NA_U64,
			};
		}
		l->place = look->place_count - 1;
		add_to_place(look, l);
		*hash_number(&look->by_cookie, listener_key(s->ns.inode, l->sock.cookie)) =
			(void *)(uintptr_t)(i + 1);
	}
	for (size_t i = 0; i < look->connection_count; i++)
		count_connection(look, &look->connections[i]);
}

const struct place *listener_place(const struct look *look, const struct listener *l)
{
	return &look->places[l->place];
}

/* ---- handshakes ---- */

static uint64_t place_key(const struct handshake_place *p)
{
	return hash_bytes(p, sizeof(*p));
}

static void count_handshakes(struct look *look, const struct handshake_row *row,
			     const struct handshake_row *before)
{
	struct connection c = { .family = (uint8_t)row->place.family,
				.local = { .port = row->place.port } };

	memcpy(c.local.address, row->place.address, sizeof(c.local.address));
	for (; c.space < look->space_count; c.space++) {
		bool is_there = row->place.netns == look->spaces[c.space].ns.inode ||
			(!row->place.netns && look->is_single);
		struct place *p = is_there ? find_place(look, &c) : NULL;

		if (!p)
			continue;
		p->arrived += row->count.arrived - (before ? before->count.arrived : 0);
		if (row->count.refused == NA_U64)
			p->refused = NA_U64;
		else if (p->refused != NA_U64)
			p->refused += row->count.refused - (before ? before->count.refused : 0);
	}
}

static void index_handshakes(const struct look *look, struct hash *by_place)
{
	for (size_t i = 0; i < look->handshake_count; i++)
		*hash_number(by_place, place_key(&look->handshakes[i].place)) =
			(void *)(uintptr_t)(i + 1);
}

int places_count_handshakes(struct look *look, const struct look *before, uint64_t *lost)
{
	const struct handshake_row *rows;
	struct hash by_place = { 0 };
	size_t count;
	int err = handshake_read(&rows, &count, lost);

	look->handshakes = NULL;
	look->handshake_count = 0;
	if (err < 0)
		return err;
	struct handshake_row *kept = arena_alloc(&look->arena, (count + 1) * sizeof(*kept));

	memcpy(kept, rows, count * sizeof(*kept));
	look->handshakes = kept;
	look->handshake_count = count;
	if (!before->handshakes)
		return 0;
	index_handshakes(before, &by_place);
	for (size_t i = 0; i < look->place_count; i++)
		look->places[i].arrived = look->places[i].refused = 0;
	for (size_t i = 0; i < count; i++) {
		uintptr_t at = (uintptr_t)hash_find_number(&by_place, place_key(&kept[i].place));

		count_handshakes(look, &kept[i], at ? &before->handshakes[at - 1] : NULL);
	}
	hash_free(&by_place);
	return 0;
}
