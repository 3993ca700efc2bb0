/* Inside listenq: what one look keeps, what the polls in between add, and what is found. */
#ifndef APPLETS_LISTENQ_LISTENQ_H
#define APPLETS_LISTENQ_LISTENQ_H

#include <stdbool.h>
#include <stdint.h>

#include "applets/applet.h"
#include "common/base/hash.h"
#include "common/base/mem.h"
#include "common/kernel/acceptq.h"
#include "common/kernel/handshake.h"
#include "common/kernel/netns.h"
#include "common/kernel/sockdiag.h"

#define NEARLY_FULL 0.80               /* of the limit: listenq.near-full */
#define STALLED_FULL 0.90              /* listenq.reuseport-stall: this one ... */
#define STALLED_OTHERS 0.10            /* ... and the median of its siblings */

/* Of TcpExt in proc/net/netstat, but for PassiveOpens; names in spaces.c. */
enum counter {
	LISTEN_OVERFLOWS, LISTEN_DROPS, SYN_FULL_DROPS, SYN_FULL_COOKIES, COOKIES_SENT,
	COOKIES_RECEIVED, COOKIES_FAILED, BACKLOG_DROPS, PASSIVE_OPENS, COUNTERS
};

enum setting { SOMAXCONN_NOW, SYNCOOKIES, ABORT_ON_OVERFLOW, MAX_SYN_BACKLOG, SETTINGS };

/* A network namespace. */
struct space {
	struct netns ns;
	uint64_t counters[COUNTERS], settings[SETTINGS];
	uint64_t moved[COUNTERS];      /* since the look before; NA_U64 unknown */
	size_t first, listeners;       /* its TCP and MPTCP listeners among the look's */
	size_t unix_listeners;
	size_t droppers;               /* TCP listeners that dropped something */
	bool has_mptcp;
	bool is_partial;               /* the kernel's list was cut */
	bool has_diag;                 /* it came with cookies and limits */
	bool has_connections;          /* SYN_RECV and CLOSE_WAIT were counted */
};

/* A listening socket. */
struct listener {
	struct sock sock;              /* of a UNIX one: cookie, inode, queue and limit */
	const char *local;
	const char *protocol;          /* tcp, mptcp, unix */
	size_t space, place;
	bool is_new;                   /* not there at the look before */
	uint64_t dropped;              /* since then; NA_U64 unknown */
	struct acceptq_queue polled;   /* polls 0: in none */
	bool is_cause_unknown;         /* dropped, and it is not clear what for */
};

/* Where clients connect to: several listeners share it by SO_REUSEPORT. */
struct place {
	size_t first, count;           /* listeners of the look */
	uint64_t queue, max, limit, dropped, drops;    /* sums; max: the most of one */
	uint64_t syn_received;         /* half open; NA_U64: not asked */
	uint64_t gave_up;              /* not accepted, CLOSE_WAIT, unread data; the same */
	uint64_t arrived, refused;     /* --exact, in the interval: ended handshakes, and those
	                                  whose last packet was dropped; NA_U64 unknown */
};

/* Half open, or given up before it was accepted. */
struct connection {
	size_t space;
	uint8_t family;
	bool is_half_open;
	struct sock_end local;
};

struct look {
	struct arena arena;
	unsigned frame;
	struct space *spaces;
	size_t space_count;
	bool is_single;                /* one namespace was asked for */
	struct listener *listeners;
	size_t count, cap;
	struct place *places;
	size_t place_count;
	struct connection *connections;
	size_t connection_count, connection_cap;
	struct hash by_cookie;         /* listener_key -> index + 1 */
	struct acceptq polls;          /* lives as long as the frame */
	const struct handshake_row *handshakes;        /* --exact; NULL: none were read */
	size_t handshake_count;
};

struct state {
	struct look *now, *before;
	uint64_t interval_ns;          /* 0: no rates */
	bool ipv4, ipv6, tcp, unix_domain, is_exact;
	const char *netns;             /* -N */
	uint64_t poll_ns;              /* --poll */
	struct opt_numbers pids;
};
extern struct state listenq;

uint64_t listener_key(uint64_t netns, uint64_t cookie);
struct listener *listener_find(const struct look *look, uint64_t netns, uint64_t cookie);
/* Of max(now, the polls). */
uint64_t listener_max(const struct listener *l);
bool listener_was_over(const struct listener *l);      /* longer than its limit, seen once */
bool listener_is_asked(const struct listener *l);      /* by --pid */

/* spaces.c: one look at all namespaces asked for. 0 or -errno. */
int spaces_read(struct out *out, struct look *look, const struct look *before);
void spaces_compare(struct look *now, const struct look *before);
void spaces_free(struct look *look);
/* Connections accepted there, and those that arrived: NA_F64 unless it is provable. */
double place_accept_rate(const struct look *look, const struct place *p);
double place_arrival_rate(const struct look *look, const struct place *p);
/* Most half-open ones it can have from peers never seen before; NA_U64. */
uint64_t listener_syn_limit(const struct space *s, const struct listener *l);

/* places.c: sorts the listeners, and counts the half-open and un-accepted connections of each. */
void places_make(struct look *look);
/* --exact: reads this look's handshakes and gives each place what is new since the one before. */
int places_count_handshakes(struct look *look, const struct look *before, uint64_t *lost);
const struct place *listener_place(const struct look *look, const struct listener *l);

/* polls.c */
uint64_t polls_sample(void);           /* struct mode's poll */
void polls_start(const struct look *look);     /* a new interval begins with this look */
int polls_read(struct look *look);
void polls_free(void);

/* pools.c: who should accept. Of listeners where somebody waits all the time, in the polls. */
void pools_start(void);
void pools_watch(const struct look *look, const struct listener *l);
void pools_sample(void);
void pools_collect(struct acceptq *sums);      /* arrays live as long as the frame */
void pools_free(void);

/* The processes that share a listener, as the polls saw them. */
struct pool {
	size_t sharing;                /* those that could be looked at */
	size_t workers;                /* of them, a parent of others that never accepts left out */
	size_t idle;                   /* workers with a thread in accept in some poll */
	size_t events;                 /* workers not so, but waiting for events in some poll */
	uint64_t polls;                /* of the worker that was looked at least */
	uint64_t span_ns, ran_ns, queued_ns;   /* of all workers' threads; NA_U64 unknown */
	uint64_t throttled_ns;         /* most of any of their control groups */
};
bool pool_sum(const struct look *look, const struct listener *l, struct pool *p);

/* owners.c: who has a socket open, now. */
/* The first process and how many more, "nginx/1234 +3"; NULL: none to be seen. */
const char *queue_owner_text(struct arena *a, uint64_t inode);
uint64_t queue_owner_pid(uint64_t inode);            /* the first; NA_U64 */
/* "5 threads: 1 running or runnable, 4 asleep (3 in inet_csk_accept)"; NULL unknown */
const char *queue_owner_threads_text(struct arena *a, uint64_t inode);
/* The one of them that has least descriptors left, and its numbers; NA_U64: unknown. */
uint64_t queue_owner_descriptors(uint64_t inode, uint64_t *used, uint64_t *limit);

/* rows.c */
extern const struct table *const listenq_tables[];
void listenq_show(struct out *out);

/* findings.c */
extern const struct finding_kind listenq_findings[];
void listenq_report(struct out *out);

#endif
