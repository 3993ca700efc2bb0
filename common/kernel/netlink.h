/*
 * Netlink: requests, dumps and multicast groups of any family (include/uapi/linux/netlink.h,
 * net/netlink/af_netlink.c, netlink(7)), through the source: what came is saved as it came and
 * replayed. Asked of the network namespace the program is in. Numbers are in the byte order of the
 * machine that was looked at, so a saved run replays on one of the same order.
 *
 * A dump is not one moment: where the kernel sees that what it walked has changed it says so
 * (NLM_F_DUMP_INTR). Then the dump is asked for again, NETLINK_ATTEMPTS times at most, and after
 * that the answer is partial. Each time `restart` is called first: what `each` got before is void.
 * A caller without `restart` gets one attempt and, if it was disturbed, a partial answer. The same
 * goes for messages that were lost (ENOBUFS) or cut.
 * Who sets it: rtnetlink, nf_tables. Who does not: inet_diag, unix_diag, ctnetlink: their dumps may
 * hold an item twice, or miss one, without a word.
 */
#ifndef KERNEL_NETLINK_H
#define KERNEL_NETLINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/base/na.h"
#include "common/base/text.h"

#define NETLINK_ATTEMPTS 4
#define NETLINK_TIMEOUT_S 5            /* an answer that takes longer is -ETIMEDOUT */

struct netlink_request {
	const char *key;               /* names it and all its arguments: its name in a save, and
	                                  the start of every fail text */
	int family;                    /* NETLINK_SOCK_DIAG ... */
	uint16_t type;
	uint16_t flags;                /* beside NLM_F_REQUEST and what the function adds */
	bool is_strict;                /* NETLINK_GET_STRICT_CHK where the kernel has it (4.20): a
	                                  filter it does not know is an error and not passed over */
	struct text body;              /* what stands behind the header: see netlink_add */
};

/* One message of the answer. The body is aligned like a nlmsghdr. */
struct netlink_message {
	uint16_t type, flags;
	struct text body;
};

struct netlink_reader {
	void (*each)(const struct netlink_message *m, void *arg);
	void (*restart)(void *arg);    /* or NULL, see above */
	void *arg;
};

struct netlink_result {
	uint64_t messages;             /* handed over in the last attempt */
	unsigned attempts;
	bool is_partial;               /* disturbed, lost or cut even in the last one */
};

/*
 * All there is (NLM_F_DUMP), or one answer (an acknowledgement is asked for and ends it). 0, or
 * -errno with fail text, the kernel's own words included where it gave any (extended
 * acknowledgements, 4.12). What was handed over before an error is void. A request can make the
 * kernel load a module: ask module_would_load first. *result is set if 0 is returned.
 */
int netlink_dump(const struct netlink_request *r, const struct netlink_reader *reader,
		 struct netlink_result *result);
int netlink_ask(const struct netlink_request *r, const struct netlink_reader *reader,
		struct netlink_result *result);

/* ---- attributes of a request ---- */

/* Behind the fixed header of the family that body begins with (a multiple of 4 bytes). */
void netlink_add(struct buf *body, uint16_t type, const void *data, size_t len);
size_t netlink_add_nest(struct buf *body, uint16_t type);        /* for netlink_end_nest */
void netlink_end_nest(struct buf *body, size_t nest);

/* ---- attributes of an answer ---- */

#define NETLINK_ALIGN(len) (((len) + 3) & ~(size_t)3)
#define NETLINK_ATTR_HEADER 4          /* struct nlattr */
#define NETLINK_ATTR_TYPE 0x3fff       /* without NLA_F_NESTED and NLA_F_NET_BYTEORDER */

struct netlink_attr {
	uint16_t type;
	struct text data;              /* of a nested one: attributes again */
};

/* The next one, which is taken off; false at the end, or where the length makes no sense. */
static inline bool netlink_next(struct text *attrs, struct netlink_attr *a)
{
	uint16_t header[2];            /* length, type */

	if (attrs->len < sizeof(header))
		return false;
	memcpy(header, attrs->data, sizeof(header));
	if (header[0] < NETLINK_ATTR_HEADER || header[0] > attrs->len)
		return false;
	a->type = header[1] & NETLINK_ATTR_TYPE;
	a->data = (struct text){ attrs->data + NETLINK_ATTR_HEADER,
		header[0] - (size_t)NETLINK_ATTR_HEADER };
	const size_t step = NETLINK_ALIGN((size_t)header[0]);

	*attrs = step < attrs->len ? (struct text){ attrs->data + step, attrs->len - step } :
		(struct text){ attrs->data + attrs->len, 0 };
	return true;
}

/* The last of that type, as the kernel takes it; false: there is none. */
bool netlink_find(struct text attrs, uint16_t type, struct text *data);
/* What stands behind the fixed header of a message; empty if that is cut. */
struct text netlink_behind(struct text body, size_t header);

/* A number of just that many bytes, else NA_U64 (all ones of 64 bits are unknown as well). */
uint64_t netlink_u8(struct text data);
uint64_t netlink_u16(struct text data);
uint64_t netlink_u32(struct text data);
uint64_t netlink_u64(struct text data);
uint64_t netlink_be16(struct text data);
uint64_t netlink_be32(struct text data);
uint64_t netlink_be64(struct text data);
struct text netlink_string(struct text data);  /* up to its NUL, if it has one */

/* ---- multicast groups ---- */

/*
 * Events are queued by the kernel from netlink_subscribe on and handed over by netlink_receive,
 * which never waits. Replaying, everything a frame received comes with its first netlink_receive.
 */
struct netlink_group {
	const char *key;
	int fd;                        /* -1 in replay */
	uint64_t lost;                 /* messages the queue had no room for, so far */
	unsigned frame, received;      /* the times received in that frame */
};

/*
 * queue_bytes: room for messages in the kernel (with CAP_NET_ADMIN as asked, else up to
 * net.core.rmem_max). key must live as long as g. 0 or -errno with fail text (EPERM: CAP_NET_ADMIN
 * is missing). Opening can load a module, as a request can.
 */
int netlink_subscribe(struct netlink_group *g, const char *key, int family, unsigned group,
		      size_t queue_bytes);
/* All that is queued now; g->lost is up to date then. 0 or -errno with fail text. */
int netlink_receive(struct netlink_group *g,
		    void (*each)(const struct netlink_message *m, void *arg), void *arg);
void netlink_unsubscribe(struct netlink_group *g);     /* a zeroed one as well */

/* ---- for tests and the fuzz target: any bytes as one piece of an answer ---- */

struct netlink_exchange {
	const struct netlink_request *request;
	const struct netlink_reader *reader;
	struct netlink_result result;
	bool is_begun, is_done;        /* the attempt */
	bool is_disturbed;
	int err;                       /* the kernel's -errno, */
	struct text words;             /* and its own words, in the piece */
};
void netlink_take(struct netlink_exchange *x, struct text piece);

#endif
