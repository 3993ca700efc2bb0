#include "common/kernel/tcpinfo.h"

#include <stddef.h>

#include "common/kernel/netlink.h"

/* Offsets that no kernel has changed: headers of older distributions lack the later fields. */
enum {
	CA_STATE = 1, RETRANSMITS = 2, PROBES = 3, BACKOFF = 4, RTO = 8, SEND_MSS = 16,
	UNACKED = 24, LOST = 32, RETRANS = 36, PATH_MTU = 60, RTT = 68, RTT_VARIANCE = 72,
	CWND = 80, TOTAL_RETRANS = 100, SEGMENTS_OUT = 136, MIN_RTT = 148, BUSY = 168, WINDOW_LIMITED = 176,
	SNDBUF_LIMITED = 184, DSACK_DUPS = 216, SEND_WINDOW = 228,
};

static uint64_t byte_at(struct text info, size_t at)
{
	return at < info.len ? (unsigned char)info.data[at] : NA_U64;
}

static uint64_t word_at(struct text info, size_t at)
{
	return at + 4 <= info.len ? netlink_u32((struct text){ info.data + at, 4 }) : NA_U64;
}

static uint64_t us_to_ns(uint64_t us)
{
	return us == NA_U64 || us > UINT64_MAX / 1000 ? NA_U64 : us * 1000;
}

static uint64_t long_us_at(struct text info, size_t at)
{
	return us_to_ns(at + 8 <= info.len ? netlink_u64((struct text){ info.data + at, 8 }) :
			NA_U64);
}

void tcpinfo_parse(struct text info, struct tcpinfo *t)
{
	*t = (struct tcpinfo){
		.ca_state = byte_at(info, CA_STATE),
		.retransmits = byte_at(info, RETRANSMITS),
		.probes = byte_at(info, PROBES),
		.backoff = byte_at(info, BACKOFF),
		.rto_ns = us_to_ns(word_at(info, RTO)),
		.rtt_ns = us_to_ns(word_at(info, RTT)),
		.rtt_variance_ns = us_to_ns(word_at(info, RTT_VARIANCE)),
		.min_rtt_ns = us_to_ns(word_at(info, MIN_RTT)),
		.send_mss_bytes = word_at(info, SEND_MSS),
		.path_mtu_bytes = word_at(info, PATH_MTU),
		.unacked = word_at(info, UNACKED),
		.lost = word_at(info, LOST),
		.retransmitted = word_at(info, RETRANS),
		.cwnd = word_at(info, CWND),
		.total_retransmits = word_at(info, TOTAL_RETRANS),
		.segments_out = word_at(info, SEGMENTS_OUT),
		.busy_ns = long_us_at(info, BUSY),
		.window_limited_ns = long_us_at(info, WINDOW_LIMITED),
		.sndbuf_limited_ns = long_us_at(info, SNDBUF_LIMITED),
		.send_window_bytes = word_at(info, SEND_WINDOW),
		.duplicates = word_at(info, DSACK_DUPS),
	};
}
