/* Inside portrange: namespaces, destinations and their ports, and what is found. */
#ifndef APPLETS_PORTRANGE_PORTRANGE_H
#define APPLETS_PORTRANGE_PORTRANGE_H

#include <stdbool.h>
#include <stdint.h>

#include "applets/applet.h"
#include "common/kernel/netns.h"
#include "common/kernel/ports.h"
#include "common/kernel/sockdiag.h"
#include "common/kernel/sockstat.h"

#define TIME_WAIT_NS (60 * 1000000000ull)      /* TCP_TIMEWAIT_LEN, include/net/tcp.h: fixed */

/* Those of TCP that have a port on the other side, and all of UDP. */
#define STATES_CONNECTED (SOCK_BIT(SOCK_ESTABLISHED) | SOCK_BIT(SOCK_SYN_SENT) | \
			  SOCK_BIT(SOCK_SYN_RECV) | SOCK_BIT(SOCK_FIN_WAIT1) | \
			  SOCK_BIT(SOCK_FIN_WAIT2) | SOCK_BIT(SOCK_TIME_WAIT) | \
			  SOCK_BIT(SOCK_CLOSE_WAIT) | SOCK_BIT(SOCK_LAST_ACK) | \
			  SOCK_BIT(SOCK_CLOSING))
#define STATES_UDP (SOCK_BIT(SOCK_CLOSE) | SOCK_BIT(SOCK_ESTABLISHED))

/* One network namespace: at this look, and what is kept of the one before. */
struct space {
	uint64_t inode;
	const struct netns *ns;        /* this frame's; NULL: it was not there */
	unsigned last_look;            /* when it was */

	struct ports ports;            /* count: usable, in the range and not reserved */
	bool has_ports;
	uint64_t reuse, reuse_delay_ns, timestamps;    /* tcp_tw_reuse ...; NA_U64 unknown */
	uint64_t fin_timeout_ns, time_wait_max;
	uint64_t overflows, recycled;  /* TCPTimeWaitOverflow, TWRecycled since it began */
	uint64_t overflows_before, recycled_before;
	struct sockstat sockets;

	bool has_tcp, had_tcp;         /* its TCP sockets were dumped; at the look before */
	bool has_udp, had_udp;
	bool has_bound;                /* it was asked which ports are bound, not connected yet */
	bool is_exact;                 /* and, of BPF, which are bound and connected */
	uint64_t states[SOCK_STATES];
	/* numbers of usable ports */
	uint64_t tcp_ports;            /* with a TCP socket */
	uint64_t even_ports;           /* of these, an even number above the range's first */
	uint64_t listening_ports;
	uint64_t bound_ports;          /* bound without a listener: no connect() gets them */
	uint64_t whole_ports;          /* the two together */
	struct port_set *bound;        /* the ports of bound_ports, if is_exact; the frame's */
	uint64_t udp_ports, udp_even_ports, unconnected_ports, unconnected_before;
};

struct tuple_key {
	uint8_t source[16], destination[16];   /* as struct sock_end's; v4-mapped ones as IPv4 */
	uint32_t space;
	uint16_t port;                         /* of the destination */
	uint8_t family, unused;
};

/* The client sockets from one address to one address and port whose own port is usable. */
struct tuple {
	struct tuple_key key;
	uint32_t established, syn_sent, closing, time_wait;
	uint32_t reusable;             /* of time_wait: a connect() may take the port now */
	uint32_t on_whole;             /* of all: on ports that are whole_ports already */
	uint32_t fresh;                /* of all: not there at the look before */
	uint32_t fresh_time_wait;      /* entered TIME_WAIT since */
	uint32_t active_before, held_before;
};

/* What becomes of a tuple. Rates and times are NA where there was no look before. */
struct outlook {
	uint64_t usable, free, active, held;   /* active: no TIME_WAIT; held: with it, reused not */
	double fill_ratio;                     /* of the usable, what is not free */
	bool is_reused;                        /* tcp_tw_reuse holds for it */
	uint64_t hold_ns;                      /* how long a closed connection keeps its port */
	double connects_per_second, holds_per_second;  /* the latter: of these, those that will be
							  held for hold_ns once they are closed */
	double need_ports;                     /* active + holds_per_second x hold_ns */
	double growth_per_second;              /* of held */
	double left_ns;                        /* until free is 0; NAN: not at this rate */
};

struct portrange {
	struct space *spaces;
	size_t space_count, space_cap;
	struct tuple *tuples;
	size_t tuple_count, tuple_cap;
	uint64_t tuples_left_out;      /* sockets of this look for which there was no room */
	bool has_lost_rates;           /* more sockets than are remembered from look to look */
	uint64_t interval_ns;
	unsigned looks;                /* this one included */
	struct arena *arena;           /* the frame's, for rows */
	bool is_exact;                 /* --exact */
	const char *by;
};
extern struct portrange portrange;

/* spaces.c: fills s for this look; the program is in that namespace. */
void portrange_read_space(struct out *out, struct space *s, bool tcp, bool udp);

/* portrange.c: what -s, -d, --dport, -4 and -6 leave. */
bool portrange_passes(const struct tuple_key *key);
bool portrange_is_open(void);             /* none of them was asked for */

/* tuples.c */
void tuples_begin(void);               /* this look becomes the one before */
struct tuple *tuples_find(const struct tuple_key *key);        /* made if new; NULL: no room */
/* Remembers a socket; true if it was not there at the look before. */
bool tuples_is_fresh(uint32_t space, uint64_t cookie);
void tuples_free(void);
bool tuple_is_there(const struct tuple *t);    /* false: it was at the look before */
bool tuple_is_reused(const struct tuple_key *key, const struct space *space);
void tuple_outlook(const struct tuple *t, struct outlook *o);

/* rows.c */
extern const struct table *const portrange_tables[];
void portrange_show_listener(struct out *out, const struct space *space, const struct sock *s);
void portrange_show_rows(struct out *out);
void portrange_show_host(struct out *out);
const char *tuple_source(struct arena *a, const struct tuple_key *key);
const char *tuple_address(struct arena *a, const struct tuple_key *key);       /* destination's */
const char *tuple_destination(struct arena *a, const struct tuple_key *key);   /* with its port */

/* holders.c: who has the ports, for findings. Sockets that `is_wanted` says yes to. */
const char *portrange_holders(struct arena *a, const struct space *space, uint8_t protocol,
			 bool (*is_wanted)(const struct sock *s, const void *arg), const void *arg);
void tuple_key_of(const struct sock *s, uint32_t space, struct tuple_key *key);

/* findings.c */
extern const struct finding_kind portrange_findings[];
void portrange_report(struct out *out);

#endif
