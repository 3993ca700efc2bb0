/* Inside conntrack-top: each namespace's table, the busiest keys in it, and what is found. */
#ifndef APPLETS_CONNTRACK_TOP_CONNTRACK_TOP_H
#define APPLETS_CONNTRACK_TOP_CONNTRACK_TOP_H

#include <stdbool.h>
#include <stdint.h>

#include "applets/applet.h"
#include "common/base/topk.h"
#include "common/kernel/conntrack.h"
#include "common/kernel/flow.h"
#include "common/kernel/flow_dump.h"
#include "common/kernel/flow_events.h"
#include "common/kernel/netns.h"

#define KEYS_MAX 16384                 /* --by keys counted exactly */
#define BEGUN_KEYS_MAX 1024            /* the same among flows that begin */
#define FLOOD_KEYS_MAX 64              /* one with half of all is found with few */
#define NAT_KEYS_MAX 4096              /* SNAT address and destination */
#define ENTRY_BYTES_ASSUMED 256        /* struct nf_conn on 64 bits, where slabinfo is unreadable */

/* What rows are by: a set of these. */
enum {
	BY_NETNS = 1 << 0, BY_SRC = 1 << 1, BY_SPORT = 1 << 2, BY_DST = 1 << 3, BY_DPORT = 1 << 4,
	BY_PROTOCOL = 1 << 5, BY_STATE = 1 << 6, BY_ZONE = 1 << 7, BY_MARK = 1 << 8,
	BY_NAT = 1 << 9,
};

enum { SUM_ASSURED, SUM_UNREPLIED, SUM_TIMEOUT_S, SUM_TIMEOUTS, SUM_PACKETS, SUM_BYTES };

/* What its nftables rules say. */
#define SNAT_RULES_MAX 64
struct rules {
	bool is_known;
	uint64_t invalid_dropped;      /* packets, by all rules that drop invalid ones and count */
	unsigned invalid_rules;
	const char *invalid_rule;      /* the first of them; lives as long as the frame */
	struct snat_rule {
		bool has_address;
		uint8_t family, min[16], max[16];
		uint16_t port_min, port_max;
	} snat[SNAT_RULES_MAX];
	size_t snat_count;
	bool has_more_snat;
};

/* One network namespace, kept from look to look. */
struct space {
	uint64_t inode;
	char *name;
	unsigned index;
	unsigned frame;                /* last seen in */
	struct conntrack now, before;
	bool has_before;
	bool is_unread;                /* this time: nothing is known of it */
	uint64_t packets, packets_before;      /* IP packets in and out */

	struct flow_events events;
	bool is_listening;
	unsigned rest;                 /* frames to go before it listens again */
	double begun_per_second, ended_per_second;     /* NAN unknown */
	bool begun_is_old;             /* of an earlier frame: it rests */
	uint64_t begun_lost;           /* messages of this frame that were dropped; all count */

	struct rules rules, rules_before;

	bool has_dump;
	bool may_be_flooded;           /* full enough to ask who the unreplied are of */
	struct flow_dump dump;
	uint64_t assured, unreplied, timeout_s, timeouts;      /* of what was dumped */
};

/* What the parts share. */
struct top {
	unsigned by, looks;            /* looks: finished ones */
	bool dumps, listens;
	bool has_filter;
	struct flow_filter filter;
	uint64_t interval_ns;          /* measured; 0: this is the first look */

	struct space *spaces;
	size_t space_count, space_cap;

	struct topk flows[2];          /* by key: of this dump and the one before */
	struct topk *now, *before;
	unsigned before_by;            /* what `before` is by; 0: there is none */
	uint64_t before_ns;            /* when that was */
	struct topk begun;             /* of the flows that began */
	uint64_t begun_all;            /* those whose message was lost included */

	bool has_lost_others;          /* a dump that began anew took others' flows along */

	/* of the namespace being dumped */
	struct topk flood_sources, flood_targets, nat;
};
extern struct top top;

/* keys.c */
int by_parse(const char *text, unsigned *by);
const char *by_text(struct arena *a, unsigned by);
unsigned by_next(unsigned by);                 /* what the key b goes on to */
struct topk_key key_of(const struct flow *f, unsigned by, unsigned space);
struct topk_key key_of_target(const struct flow *f);           /* dst, protocol, dport */
struct topk_key key_of_snat(const struct flow *f);             /* of the reply */
/* Parts of a key again; NULL or NA_U64 where its `by` does not have them. */
struct key_parts {
	const char *netns, *src, *dst, *protocol, *state, *nat;
	uint64_t sport, dport, zone, mark;
};
struct key_parts key_parts(struct arena *a, const struct topk_key *key, unsigned by);

/* collect.c */
struct space *space_of(const struct netns *ns);
void read_space(struct out *out, const struct netns *ns, struct space *s);     /* inside it */

/* rules.c */
void space_read_rules(struct out *out, struct space *s);
/* Ports the rules leave for this key of top.nat: as many, and which. */
unsigned snat_ports(const struct space *s, const struct topk_key *key, uint16_t *first,
		    uint16_t *last);

/* rows.c */
extern const struct table space_table, flow_table;
enum order { ORDER_FLOWS, ORDER_UNREPLIED, ORDER_GROWTH, ORDER_BEGUN, ORDER_BYTES, ORDERS };
const char *order_name(enum order order);
void show_space(struct out *out, const struct space *s);
void show_flows(struct out *out, enum order order);
double space_growth(const struct space *s);    /* entries per second, by the count; NAN */
double space_fill(const struct space *s);      /* fraction; NAN */
double space_chain(const struct space *s);     /* average; of its own entries: at least that */
uint64_t space_full_in_ns(const struct space *s);      /* at that growth; NA_U64: not, or unknown */

/* findings.c */
extern const struct finding_kind conntrack_findings[];
void space_read_packets(struct space *s);      /* at each look */
bool may_be_flooded(const struct space *s);
void report_space(struct out *out, const struct space *s);

#endif
