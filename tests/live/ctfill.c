/*
 * Puts flows into the connection tracking table of the namespace it is in, by ctnetlink: as many
 * and as answered as a test wants.
 *
 *     ctfill COUNT [assured|replied|unreplied [FIRST [SECONDS [PORTS]]]]
 *
 * COUNT udp flows to 10.99.0.1 port 53 from FIRST (10.0.0.0), FIRST + 1 ..., PORTS (1) of each,
 * from port 1000 on. Prints "added N refused N".
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/netfilter/nf_conntrack_common.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_conntrack.h>
#include <linux/netlink.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define BATCH_BYTES 16384

struct message {
	char data[512];
	size_t len;
};

static void put(struct message *m, unsigned type, const void *value, size_t len)
{
	const struct nlattr a = { (uint16_t)(sizeof(a) + len), (uint16_t)type };

	memcpy(m->data + m->len, &a, sizeof(a));
	memcpy(m->data + m->len + sizeof(a), value, len);
	m->len += NLA_ALIGN(sizeof(a) + len);
}

static size_t open_nest(struct message *m, unsigned type)
{
	size_t at = m->len;

	put(m, type | NLA_F_NESTED, "", 0);
	return at;
}

static void close_nest(struct message *m, size_t at)
{
	uint16_t len = (uint16_t)(m->len - at);

	memcpy(m->data + at, &len, sizeof(len));
}

static void put_tuple(struct message *m, unsigned type, uint32_t src, uint32_t dst, uint16_t sport,
		      uint16_t dport)
{
	const uint32_t from = htonl(src), to = htonl(dst);
	const uint16_t from_port = htons(sport), to_port = htons(dport);
	const uint8_t protocol = IPPROTO_UDP;
	size_t tuple = open_nest(m, type), part = open_nest(m, CTA_TUPLE_IP);

	put(m, CTA_IP_V4_SRC, &from, 4);
	put(m, CTA_IP_V4_DST, &to, 4);
	close_nest(m, part);
	part = open_nest(m, CTA_TUPLE_PROTO);
	put(m, CTA_PROTO_NUM, &protocol, 1);
	put(m, CTA_PROTO_SRC_PORT, &from_port, 2);
	put(m, CTA_PROTO_DST_PORT, &to_port, 2);
	close_nest(m, part);
	close_nest(m, tuple);
}

static void make(struct message *m, uint32_t src, uint16_t sport, uint32_t status, uint32_t seconds)
{
	struct nlmsghdr h = { .nlmsg_type = NFNL_SUBSYS_CTNETLINK << 8 | IPCTNL_MSG_CT_NEW,
			      .nlmsg_flags = NLM_F_REQUEST | NLM_F_CREATE };
	const struct nfgenmsg g = { .nfgen_family = AF_INET };
	const uint32_t dst = 0x0a630001, bits = htonl(status), left = htonl(seconds);

	memset(m, 0, sizeof(*m));
	m->len = sizeof(h) + sizeof(g);
	put_tuple(m, CTA_TUPLE_ORIG, src, dst, sport, 53);
	put_tuple(m, CTA_TUPLE_REPLY, dst, src, 53, sport);
	put(m, CTA_STATUS, &bits, 4);
	put(m, CTA_TIMEOUT, &left, 4);
	h.nlmsg_len = (uint32_t)m->len;
	memcpy(m->data, &h, sizeof(h));
	memcpy(m->data + sizeof(h), &g, sizeof(g));
}

/* Refusals that came back; they end nothing. */
static long refusals(int fd)
{
	static char answer[65536];
	long refused = 0;
	ssize_t n;

	while ((n = recv(fd, answer, sizeof(answer), MSG_DONTWAIT)) > 0)
		for (struct nlmsghdr *h = (struct nlmsghdr *)(void *)answer; NLMSG_OK(h, n);
		     h = NLMSG_NEXT(h, n))
			refused += h->nlmsg_type == NLMSG_ERROR;
	return refused;
}

int main(int argc, char **argv)
{
	static char batch[BATCH_BYTES];
	const long count = argc > 1 ? strtol(argv[1], NULL, 10) : 0;
	const char *kind = argc > 2 ? argv[2] : "assured";
	struct in_addr first = { htonl(0x0a000000) };
	const uint32_t seconds = argc > 4 ? (uint32_t)strtoul(argv[4], NULL, 10) : 3600;
	const long ports = argc > 5 ? strtol(argv[5], NULL, 10) : 1;
	const uint32_t status = IPS_CONFIRMED | (strcmp(kind, "unreplied") ? IPS_SEEN_REPLY : 0) |
		(strcmp(kind, "assured") ? 0 : IPS_ASSURED);
	int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER), size = 1 << 22;
	size_t used = 0;
	long refused = 0;

	if (fd < 0 || count < 1 || ports < 1 || (argc > 3 && !inet_aton(argv[3], &first))) {
		fprintf(stderr, "usage: ctfill COUNT [assured|replied|unreplied [FIRST "
				"[SECONDS [PORTS]]]]\n");
		return 2;
	}
	setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size));
	for (long i = 0; i < count; i++) {
		struct message m;

		make(&m, ntohl(first.s_addr) + (uint32_t)(i / ports), (uint16_t)(1000 + i % ports),
		     status, seconds);
		memcpy(batch + used, m.data, m.len);
		used += m.len;
		if (used + sizeof(m.data) < sizeof(batch) && i + 1 < count)
			continue;
		if (send(fd, batch, used, 0) < 0) {
			perror("send");
			return 1;
		}
		used = 0;
		refused += refusals(fd);
	}
	refused += refusals(fd);
	printf("added %ld refused %ld\n", count - refused, refused);
	return 0;
}
