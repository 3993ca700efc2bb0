/* Between ip.c and ip_report.c. */
#ifndef APPLETS_NETPATH_IP_H
#define APPLETS_NETPATH_IP_H

#include "applets/netpath/counters.h"

struct ip {
	struct counters counters;
	uint64_t forwards[2];          /* net.ipv4.ip_forward, net.ipv6.conf.all.forwarding */
	bool has_global[2];            /* addresses to be reached by, of IPv4 and of IPv6 */
	/* devices with rp_filter, "v0 (strict), v1 (loose)", read if it dropped; NULL */
	const char *rp_devices;
	const char *rp_device;         /* the only one; NULL: there are several */
};

/* What a meter of the IP layer is, for its report: ->detail. */
enum ip_meter {
	IP_METER_ADDRESS,              /* for somebody else */
	IP_METER_IN_ROUTE, IP_METER_OUT_ROUTE, IP_METER_RP_FILTER, IP_METER_REASSEMBLY,
	IP_METER_CHECKSUM, IP_METER_FRAGMENTATION,
};
struct ip_detail {
	enum ip_meter what;
	unsigned version;              /* 4, 6; 0 both */
	const char *parts;             /* of a checksum: "IPv4 10, TCP 20" */
};

void ip_report(struct out *out, struct walk *w);

#endif
