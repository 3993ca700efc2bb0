/*
 * Inside netpath: the walk's layers, what each hands over, and how a loss that shows in several
 * counters is told once.
 *
 * A layer is one file (LAYER.c). Per look it reads what it needs of a network namespace; between
 * two looks it says what moved: blocks (a place packets pass, with how many went in and out) and on
 * them meters (a counter of packets that did not). path.c then goes through all meters from cause
 * to echo: what a meter counts is first taken as the echo of losses that are known by then and can
 * show in it (echo.c), never more than they have; the rest is its own. Findings speak of `own`.
 */
#ifndef APPLETS_NETPATH_NETPATH_H
#define APPLETS_NETPATH_NETPATH_H

#include <stdbool.h>
#include <stdint.h>

#include "applets/applet.h"
#include "common/base/hash.h"
#include "common/base/mem.h"
#include "common/base/na.h"
#include "common/kernel/link.h"
#include "common/kernel/netns.h"

/* Bottom up. A layer's name is what stands behind the dot of its findings and in the picture. */
enum layer_id {
	LAYER_LINK, LAYER_RING, LAYER_XDP, LAYER_TC, LAYER_SOFTNET, LAYER_QDISC, LAYER_NEIGHBOUR,
	LAYER_IP, LAYER_FILTER, LAYER_CONNTRACK, LAYER_TCP, LAYER_UDP, LAYER_SOCKET, LAYERS
};

enum direction { DIR_NONE, DIR_RX, DIR_TX };

/* PAST: lost since boot, not now. UNKNOWN: what it loses has no counter that can be read. */
enum block_state { BLOCK_OK, BLOCK_PAST, BLOCK_UNKNOWN, BLOCK_NOW };

/*
 * What a meter counts, in the order of attribution: a kind takes echoes only of kinds before it
 * (and of its own kind, from a member to its bond). To add one: put it where causes stand before
 * echoes, and its relations into echo.c.
 */
enum meter_kind {
	/* neither loss nor the cause of one: protocols nobody handles, cookies */
	METER_NO_LOSS,
	/* causes */
	METER_LINK_ERROR,              /* damaged frames */
	METER_CLOUD,                   /* over an allowance of the cloud's */
	METER_RING_RX, METER_RING_TX,  /* a device's or a tap's ring was full */
	METER_XDP,                     /* errors, not XDP_DROP */
	METER_SOFTNET,                 /* a CPU's backlog */
	METER_FILTER,                  /* a rule's or a policy's drops */
	METER_CONNTRACK,
	METER_TC,                      /* a filter's action */
	METER_QDISC,
	METER_NEIGHBOUR,
	METER_IP_RX,                   /* header, address, route, rp_filter, checksum ... */
	METER_IP_TX,                   /* no route, fragmentation ... */
	METER_LISTEN,
	METER_SOCKET,                  /* a socket's own drops */
	/* counters that mostly repeat what is above, often in another namespace */
	METER_DEVICE_RX, METER_DEVICE_TX,      /* rx_dropped, tx_dropped */
	METER_REASSEMBLY,              /* one fragment is lost, the others are in vain */
	METER_IP_OUT_DISCARDS, METER_IP_IN_DISCARDS,
	METER_UDP_RX, METER_UDP_SNDBUF,
	METER_TCP_RX,                  /* checksum, memory, backlog */
	METER_TCP_RETRANS,             /* a consequence: packets sent again */
	METER_KINDS
};

struct echo {
	size_t meter;                  /* the one it showed in, of the walk's */
	uint64_t count;
};

#define NO_SPACE SIZE_MAX              /* a meter or block of the whole host */

struct meter {
	enum meter_kind kind;
	size_t block;                  /* of the walk's */
	const char *name;              /* as the kernel has it: "rx_dropped", "OutDiscards" */
	uint64_t count;                /* in the interval; NA_U64 unknown */
	uint64_t total;                /* since its start; NA_U64 */
	const char *proof;             /* where to read it: "ip -s -s link show dev v1" */
	const void *detail;            /* the layer's own, for its report */
	/* Dropped on purpose (a firewall's policy, XDP_DROP): shown, and explains its echoes, but
	 * no loss. */
	bool is_wanted;
	/* Of own only what is counted again by the other end's tx_dropped is known to be a loss;
	 * the rest may as well be what no protocol wanted (rx_dropped). */
	bool needs_echo;
	/* path.c's */
	uint64_t own;                  /* of count, what is no echo, and a loss */
	uint64_t unproven;             /* needs_echo: the rest */
	struct echo *echoes;           /* where else own was counted */
	size_t echo_count, echo_cap;
	uint64_t *spent;               /* by kind: how much of own has been found as an echo */
};

/* A place on the path; a row. */
struct block {
	enum layer_id layer;
	enum direction direction;
	size_t space;                  /* NO_SPACE: of the host */
	const char *subject;           /* interface, rule, CPU, protocol; escaped when printed */
	uint32_t ifindex;              /* 0: no device's */
	uint32_t peer_ifindex;         /* of a veth, in peer_space, else 0 */
	size_t peer_space;             /* NO_SPACE: not among those looked at */
	uint32_t master_ifindex;       /* of a bond's member */
	uint64_t packets_in, packets_out;      /* in the interval; NA_U64 unknown */
	bool is_unknown;               /* loses in ways no counter shows */
	const char *note;              /* what a reader should know of it; NULL */
	/* path.c's */
	uint64_t drops;                /* sum of own of its losses; NA_U64 unknown */
	enum block_state state;
	const char *evidence;          /* "rx_dropped +12" */
	const char *echo_text;
};

/* A network namespace, in one look. */
struct space {
	struct netns ns;
	bool is_followed;              /* not asked for: only these devices, the other ends of
	                                  veths that are, and their qdiscs are looked at */
	uint32_t *follows;
	size_t follow_count;
	void *data[LAYERS];            /* what each layer keeps of it, in the look's arena */
};

struct look {
	struct arena arena;
	unsigned frame;
	struct space *spaces;
	size_t space_count, space_cap;
	void *host[LAYERS];            /* what each layer keeps of the host */
};

/* What moved between two looks. */
struct walk {
	const struct look *now, *before;       /* before->space_count is 0 in a run of one frame */
	uint64_t interval_ns;          /* 0: no rates */
	struct arena *arena;           /* the frame's */
	struct block *blocks;
	size_t block_count, block_cap;
	struct meter *meters;
	size_t meter_count, meter_cap;
};

/*
 * A layer. Any function may be NULL. read: inside the namespace (s->ns), into s->data[layer];
 * followed namespaces only with reads_followed. read_host: once a look, in the own one. compare:
 * blocks and meters; was is that namespace in the look before, NULL if it was not there (is_new:
 * it was made since, and its counters began at 0). report: findings, once all is attributed, one
 * loss in one. history: since-boot counters (out_history). tables are its own, printed by show.
 * What can't be read is said with out_missing and read as unknown; an error ends the run.
 */
struct layer {
	const char *name;
	bool reads_followed;
	int (*read)(struct out *out, struct look *look, struct space *s);
	int (*read_host)(struct out *out, struct look *look);
	void (*compare)(struct out *out, struct walk *w, size_t space, const struct space *was,
			bool is_new);
	void (*compare_host)(struct out *out, struct walk *w);
	void (*report)(struct out *out, struct walk *w);
	void (*history)(struct out *out, const struct space *s);
	void (*show)(struct out *out, struct walk *w);
	void (*stop)(void);
};

extern const struct layer layer_link, layer_softnet, layer_tc, layer_qdisc;
extern const struct layer layer_neighbour, layer_ip, layer_filter, layer_conntrack, layer_tcp,
	layer_udp;
extern const struct layer *const layers[LAYERS];       /* layers.c; NULL: its blocks come from
                                                          another layer's reading */
const char *layer_name(enum layer_id id);

struct state {
	struct look *now, *before;
	const char *netns;             /* -N */
	struct opt_texts interfaces;   /* -i */
};
extern struct state netpath;

/* Is that device asked for (-i, all without)? Of a followed namespace: is it an end followed? */
bool netpath_wants(const struct space *s, const struct link *l);

/* ---- for compare (path.c) ---- */

/* A new one, zeroed but for what is given, unknown packets and no peer. Valid until the next. */
struct block *path_add_block(struct walk *w, enum layer_id layer, enum direction d, size_t space,
			     const char *subject);
/* On the block added last. */
struct meter *path_add_meter(struct walk *w, enum meter_kind kind, const char *name, uint64_t count,
			     uint64_t total, const char *proof);
/* now - was, of a counter that began at 0 if was is NULL and is_new. */
uint64_t path_moved(uint64_t now, const uint64_t *was, bool is_new);
/* Attribute all, fill what is path.c's. */
void path_attribute(struct walk *w);

/* ---- for report ---- */

/* At least that many own events, and that share of what came to the block (when that is known). */
bool path_is_over(const struct walk *w, const struct meter *m, uint64_t events, double share);
#define EVENTS_MIN 10
#define SHARE_MIN 0.001
double path_share(const struct walk *w, const struct meter *m);        /* NA_F64 */
/* For the next meter of that layer from *at on, which is moved behind it; NULL: no more. */
struct meter *path_next(struct walk *w, enum layer_id layer, size_t *at);

/*
 * A finding with the evidence each has: namespace, packets, drops, share, echoes. The layer adds
 * its own evidence and lines and hands it to netpath_finish, which adds the line of echoes and the
 * meter's proof, and gives it to out. subject NULL: the block's.
 */
struct finding *netpath_finding(struct out *out, const struct walk *w, const char *id,
				enum finding_state state, const struct meter *m,
				const char *subject);
void netpath_finish(struct out *out, const struct walk *w, const struct meter *m,
		    struct finding *f);
/* "120 packets lost (60/s, 1.2 %)" */
const char *netpath_lost_text(struct arena *a, const struct walk *w, const struct meter *m);
/* "ip -s link" as it must be typed to see that namespace; " -N NAME" to ask for it, or "". */
const char *netpath_command_in(struct arena *a, const struct walk *w, size_t space,
			       const char *command);
const char *netpath_option_of(struct arena *a, const struct walk *w, size_t space);
/* The same namespace in the look before; NULL. */
const struct space *netpath_space_before(const struct walk *w, const struct space *s);
const char *netpath_space_name(struct arena *a, const struct walk *w, size_t space);   /* redacted;
											  NULL */
/* " in blue" of another namespace than our own, else "" */
const char *netpath_in_space(struct arena *a, const struct space *s);
extern const struct finding_kind netpath_findings[];   /* findings.c */

/* ---- link.c: the devices, for other layers ---- */

size_t netpath_links(const struct space *s, const struct link **links);        /* 0: not read */
const struct link *netpath_link(const struct space *s, uint32_t ifindex);      /* or NULL */
const struct link *netpath_link_named(const struct space *s, const char *name);
/* The other end of a veth, wherever it is; *space: NO_SPACE if in none that is looked at. NULL. */
const struct link *netpath_peer(const struct look *look, const struct space *s,
				const struct link *l, size_t *space);
/* After all asked namespaces were read: which device of `other` is the far end of an asked one?
 * Adds them to other->follows. */
void netpath_follow(struct look *look, struct space *other, const struct link *links,
		    size_t count);

/* ---- echo.c ---- */

/* Can own of `cause` show in `echo` as well? */
bool echo_is_possible(const struct walk *w, const struct meter *cause, const struct meter *echo);

/* ---- rows.c ---- */

extern const struct table *const netpath_walk_tables[];
void netpath_show(struct out *out, struct walk *w);

/* ---- walk.c, and the other modes, each in a file of its own ---- */

extern const struct mode netpath_walk;

#endif
