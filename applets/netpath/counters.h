/* The protocols' counters of a namespace, by name: /proc/net/snmp, netstat, snmp6. */
#ifndef APPLETS_NETPATH_COUNTERS_H
#define APPLETS_NETPATH_COUNTERS_H

#include "applets/netpath/netpath.h"

/* FILE, group there, name: as nstat calls it GROUPNAME, of snmp6 the name alone. */
#define NETPATH_COUNTERS(X) \
	X(SNMP, Ip, InReceives) X(SNMP, Ip, InHdrErrors) X(SNMP, Ip, InAddrErrors) \
	X(SNMP, Ip, ForwDatagrams) X(SNMP, Ip, InUnknownProtos) X(SNMP, Ip, InDiscards) \
	X(SNMP, Ip, InDelivers) X(SNMP, Ip, OutRequests) X(SNMP, Ip, OutDiscards) \
	X(SNMP, Ip, OutNoRoutes) X(SNMP, Ip, ReasmReqds) X(SNMP, Ip, ReasmFails) \
	X(SNMP, Ip, ReasmTimeout) X(SNMP, Ip, FragFails) X(SNMP, Ip, FragCreates) \
	X(NETSTAT, IpExt, InNoRoutes) X(NETSTAT, IpExt, InTruncatedPkts) \
	X(NETSTAT, IpExt, InCsumErrors) X(NETSTAT, TcpExt, IPReversePathFilter) \
	X(SNMP6, Ip6, InReceives) X(SNMP6, Ip6, InHdrErrors) X(SNMP6, Ip6, InNoRoutes) \
	X(SNMP6, Ip6, InAddrErrors) X(SNMP6, Ip6, InUnknownProtos) \
	X(SNMP6, Ip6, InTruncatedPkts) X(SNMP6, Ip6, InDiscards) X(SNMP6, Ip6, InDelivers) \
	X(SNMP6, Ip6, OutForwDatagrams) X(SNMP6, Ip6, OutRequests) X(SNMP6, Ip6, OutDiscards) \
	X(SNMP6, Ip6, OutNoRoutes) X(SNMP6, Ip6, ReasmReqds) X(SNMP6, Ip6, ReasmFails) \
	X(SNMP6, Ip6, ReasmTimeout) X(SNMP6, Ip6, FragFails) \
	X(SNMP, Icmp, InCsumErrors) X(SNMP6, Icmp6, InCsumErrors) \
	X(SNMP, Tcp, ActiveOpens) X(SNMP, Tcp, PassiveOpens) X(SNMP, Tcp, AttemptFails) \
	X(SNMP, Tcp, EstabResets) X(SNMP, Tcp, InSegs) X(SNMP, Tcp, OutSegs) \
	X(SNMP, Tcp, RetransSegs) X(SNMP, Tcp, InErrs) X(SNMP, Tcp, OutRsts) \
	X(SNMP, Tcp, InCsumErrors) \
	X(NETSTAT, TcpExt, EmbryonicRsts) X(NETSTAT, TcpExt, PruneCalled) \
	X(NETSTAT, TcpExt, RcvPruned) X(NETSTAT, TcpExt, OfoPruned) \
	X(NETSTAT, TcpExt, ListenOverflows) X(NETSTAT, TcpExt, ListenDrops) \
	X(NETSTAT, TcpExt, TCPRcvCollapsed) X(NETSTAT, TcpExt, TCPRcvQDrop) \
	X(NETSTAT, TcpExt, TCPOFODrop) X(NETSTAT, TcpExt, TCPBacklogDrop) \
	X(NETSTAT, TcpExt, PFMemallocDrop) X(NETSTAT, TcpExt, TCPMinTTLDrop) \
	X(NETSTAT, TcpExt, TCPZeroWindowDrop) X(NETSTAT, TcpExt, TCPReqQFullDrop) \
	X(NETSTAT, TcpExt, TCPTimeouts) X(NETSTAT, TcpExt, TCPLossProbes) \
	X(NETSTAT, TcpExt, TCPSynRetrans) X(NETSTAT, TcpExt, TCPFastRetrans) \
	X(NETSTAT, TcpExt, TCPSlowStartRetrans) X(NETSTAT, TcpExt, TCPLostRetransmit) \
	X(NETSTAT, TcpExt, TCPRetransFail) X(NETSTAT, TcpExt, TCPSpuriousRTOs) \
	X(NETSTAT, TcpExt, TCPDSACKRecv) X(NETSTAT, TcpExt, TCPDSACKRecvSegs) \
	X(NETSTAT, TcpExt, TCPAbortOnData) X(NETSTAT, TcpExt, TCPAbortOnClose) \
	X(NETSTAT, TcpExt, TCPAbortOnMemory) X(NETSTAT, TcpExt, TCPAbortOnTimeout) \
	X(NETSTAT, TcpExt, TCPAbortOnLinger) X(NETSTAT, TcpExt, TCPAbortFailed) \
	X(NETSTAT, TcpExt, TCPMemoryPressures) X(NETSTAT, TcpExt, TCPToZeroWindowAdv) \
	X(NETSTAT, TcpExt, TCPFromZeroWindowAdv) X(NETSTAT, TcpExt, TCPWantZeroWindowAdv) \
	X(SNMP, Udp, InDatagrams) X(SNMP, Udp, NoPorts) X(SNMP, Udp, InErrors) \
	X(SNMP, Udp, OutDatagrams) X(SNMP, Udp, RcvbufErrors) X(SNMP, Udp, SndbufErrors) \
	X(SNMP, Udp, InCsumErrors) X(SNMP, Udp, MemErrors) \
	X(SNMP6, Udp6, InDatagrams) X(SNMP6, Udp6, NoPorts) X(SNMP6, Udp6, InErrors) \
	X(SNMP6, Udp6, OutDatagrams) X(SNMP6, Udp6, RcvbufErrors) X(SNMP6, Udp6, SndbufErrors) \
	X(SNMP6, Udp6, InCsumErrors) X(SNMP6, Udp6, MemErrors)

enum counter {
#define X(file, group, name) group##name,
	NETPATH_COUNTERS(X)
#undef X
	COUNTERS
};

struct counters {
	uint64_t n[COUNTERS];          /* NA_U64: this kernel has none */
};

/* Inside the namespace. Files that are not there (no IPv6) leave theirs unknown; one that can't be
 * read is said. */
void counters_read(struct out *out, struct counters *c);
const char *counter_name(enum counter c);      /* "IpOutNoRoutes", "TcpExtTCPTimeouts" */
const char *counter_proof(enum counter c);     /* "cat /proc/net/snmp" */

/* Of that space in the walk; NULL: not read. ip.c. */
const struct counters *counters_of(const struct space *s);
/* In the interval. */
uint64_t counter_moved(const struct space *s, const struct space *was, bool is_new, enum counter c);
/* On the block added last, if the kernel has it. */
struct meter *counter_meter(struct walk *w, const struct space *s, const struct space *was,
			    bool is_new, enum counter c, enum meter_kind kind);
/* "IPv4 2, TCP 1" of those that are some; NULL: none. */
const char *counters_text(struct arena *a, const char *const *names, const uint64_t *n,
			  size_t count);

/* a + b, one that is unknown counts for nothing unless both are. */
static inline uint64_t add_known(uint64_t a, uint64_t b)
{
	return a == NA_U64 ? b : b == NA_U64 ? a : a + b;
}

static inline bool is_some(uint64_t n)
{
	return n && n != NA_U64;
}

static inline uint64_t or_zero(uint64_t n)
{
	return n == NA_U64 ? 0 : n;
}

#endif
