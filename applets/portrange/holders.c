/* Who has the ports a finding is about: a second dump, so that nothing is kept for the many sockets
 * that no finding asks about. */
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "applets/portrange/portrange.h"
#include "common/base/hash.h"
#include "common/kernel/sockowner.h"
#include "common/report/redact.h"

#define HOLDERS_SHOWN 3
#define INODES_MAX 65536u

void tuple_key_of(const struct sock *s, uint32_t space, struct tuple_key *key)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	bool is_mapped = s->family == AF_INET6 &&
		!memcmp(s->remote.address, mapped, sizeof(mapped));

	*key = (struct tuple_key){ .space = space, .port = s->remote.port,
				   .family = is_mapped ? AF_INET : s->family };
	if (key->family == AF_INET6) {
		memcpy(key->source, s->local.address, sizeof(key->source));
		memcpy(key->destination, s->remote.address, sizeof(key->destination));
	} else {
		memcpy(key->source, s->local.address + 12 * is_mapped, 4);
		memcpy(key->destination, s->remote.address + 12 * is_mapped, 4);
	}
}

struct wanted {
	bool (*is_wanted)(const struct sock *s, const void *arg);
	const void *arg;
	uint64_t *inodes;
	size_t count, cap;
};

static void on_socket(const struct sock *s, void *arg)
{
	struct wanted *w = arg;

	if (!s->inode || w->count == INODES_MAX || !w->is_wanted(s, w->arg))
		return;
	w->inodes = mem_grow(w->inodes, &w->cap, w->count + 1, sizeof(*w->inodes));
	w->inodes[w->count++] = s->inode;
}

static int collect(const struct space *space, uint8_t protocol, struct wanted *w)
{
	struct sockdiag_query q = { .protocol = protocol, .ipv4 = true, .ipv6 = true,
				    .states = protocol == IPPROTO_TCP ? STATES_CONNECTED :
				    STATES_UDP };
	struct sockdiag_result result;
	int err = netns_enter(space->ns);

	if (err < 0)
		return err;
	err = sockdiag_each(&q, on_socket, w, &result);
	netns_leave();
	return err;
}

struct holder {
	uint32_t pid;
	uint64_t sockets;
};

static int by_sockets(const void *a, const void *b)
{
	const struct holder *x = a, *y = b;

	if (x->sockets != y->sockets)
		return x->sockets < y->sockets ? 1 : -1;
	return (x->pid > y->pid) - (x->pid < y->pid);
}

/* The first of the processes that share a socket has it. */
static size_t count_by_process(struct arena *a, const struct wanted *w, struct holder **holders)
{
	struct holder *list = arena_alloc(a, (w->count + 1) * sizeof(*list));
	struct hash by_pid = { 0 };
	size_t count = 0, owners;

	for (size_t i = 0; i < w->count; i++) {
		const struct sock_owner *owner = sockowner_find(w->inodes[i], &owners);

		if (!owners)
			continue;
		void **place = hash_number(&by_pid, owner->pid);

		if (!*place) {
			list[count] = (struct holder){ owner->pid, 0 };
			*place = &list[count++];
		}
		((struct holder *)*place)->sockets++;
	}
	hash_free(&by_pid);
	qsort(list, count, sizeof(*list), by_sockets);
	*holders = list;
	return count;
}

const char *portrange_holders(struct arena *a, const struct space *space, uint8_t protocol,
			 bool (*is_wanted)(const struct sock *s, const void *arg), const void *arg)
{
	struct wanted w = { is_wanted, arg, NULL, 0, 0 };
	struct holder *holders;
	const char *text = NULL;

	if (collect(space, protocol, &w) < 0 || !w.count || sockowner_load() < 0) {
		free(w.inodes);
		return NULL;
	}
	size_t count = count_by_process(a, &w, &holders);

	free(w.inodes);
	for (size_t i = 0; i < count && i < HOLDERS_SHOWN; i++) {
		const char *comm = sockowner_comm(holders[i].pid);

		text = arena_printf(a, "%s%s%s/%u %llu", text ? text : "", text ? ", " : "",
				    comm ? redact_name(a, NAME_COMMAND, comm) : "-", holders[i].pid,
				    (unsigned long long)holders[i].sockets);
	}
	if (count > HOLDERS_SHOWN)
		text = arena_printf(a, "%s, %zu more", text, count - HOLDERS_SHOWN);
	return text;
}
