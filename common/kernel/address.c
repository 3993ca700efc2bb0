#include "common/kernel/address.h"

#include <errno.h>
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

#include "common/kernel/netlink.h"

int address_parse(struct text body, struct address *a)
{
	struct ifaddrmsg head;
	struct text attrs = netlink_behind(body, sizeof(head)), data;

	if (body.len < sizeof(head))
		return -EINVAL;
	memcpy(&head, body.data, sizeof(head));
	/* of a point-to-point link IFA_ADDRESS is the other end's */
	if (!netlink_find(attrs, IFA_LOCAL, &data) && !netlink_find(attrs, IFA_ADDRESS, &data))
		return -EINVAL;
	if (data.len != (head.ifa_family == AF_INET ? 4u : 16u))
		return -EINVAL;
	*a = (struct address){ .family = head.ifa_family, .bits = head.ifa_prefixlen,
			       .ifindex = head.ifa_index };
	memcpy(a->address, data.data, data.len);
	return 0;
}

bool address_is_global(const struct address *a)
{
	const uint8_t *b = a->address;

	if (a->family == AF_INET)
		return b[0] != 127 && !(b[0] == 169 && b[1] == 254);
	return a->family == AF_INET6 && (b[0] & 0xe0) == 0x20;
}

struct walk {
	void (*each)(const struct address *a, void *arg);
	void (*restart)(void *arg);
	void *arg;
};

static void take(const struct netlink_message *m, void *arg)
{
	const struct walk *w = arg;
	struct address a;

	if (m->type == RTM_NEWADDR && address_parse(m->body, &a) == 0)
		w->each(&a, w->arg);
}

static void start_again(void *arg)
{
	const struct walk *w = arg;

	w->restart(w->arg);
}

int addresses_each(void (*each)(const struct address *a, void *arg), void (*restart)(void *arg),
		   void *arg)
{
	static const struct ifaddrmsg any = { 0 };
	struct walk w = { each, restart, arg };
	const struct netlink_request r = { .key = "addresses", .family = NETLINK_ROUTE,
					   .type = RTM_GETADDR,
					   .body = { (const char *)&any, sizeof(any) } };
	const struct netlink_reader reader = { take, start_again, &w };
	struct netlink_result result;

	return netlink_dump(&r, &reader, &result);
}
