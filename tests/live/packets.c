/*
 * Packets for live tests of netpath: sent, received, malformed. One argument list is one job.
 *
 *     sink ADDR PORT [RCVBUF] [PORT ...]   UDP sockets that are never read; stays
 *     drain ADDR PORT [PORT ...]           UDP sockets that are read; stays; "received N N ..."
 *     udp ADDR PORT COUNT BYTES            so many datagrams, 25,000 a second; "sent N refused N"
 *     raw ADDR SOURCE DST COUNT            UDP from a source that need not be ours, sent to the
 *                                          neighbour ADDR whatever DST is
 *     bad DEVICE MAC SOURCE DST PROTOCOL COUNT   with a wrong checksum: ip, tcp, udp
 *     serve ADDR PORT                      TCP: answers one byte to whatever it reads; stays
 *     eat ADDR PORT                        TCP: reads and says nothing; stays
 *     bulk ADDR PORT SECONDS               sends all the time; "bytes N"
 *     ask ADDR PORT BYTES MS               sends 20 bytes, and when they are answered BYTES more,
 *                                          at once, then waits so long; "first ok second lost"
 *     connects ADDR PORT N MS              N connections begun at once; "connected N of N"
 * Those that stay say "ready" and end on SIGTERM, or after two minutes.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define SOCKETS_MAX 2000
#define STAY_S 120

static volatile sig_atomic_t is_over;

static void end(int signal)
{
	(void)signal;
	is_over = 1;
}

static void die(const char *what)
{
	perror(what);
	exit(3);
}

static long number(const char *s)
{
	char *stop;
	const long n = strtol(s, &stop, 10);

	if (*stop || stop == s)
		die(s);
	return n;
}

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void rest_us(long us)
{
	const struct timespec t = { us / 1000000, us % 1000000 * 1000 };

	nanosleep(&t, NULL);
}

static struct sockaddr_in address(const char *ip, long port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };

	if (inet_pton(AF_INET, ip, &a.sin_addr) != 1)
		die(ip);
	return a;
}

static int bound(const char *ip, long port, int type)
{
	const struct sockaddr_in a = address(ip, port);
	const int on = 1;
	int fd = socket(AF_INET, type, 0);

	if (fd < 0)
		die("socket");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, (const struct sockaddr *)&a, sizeof(a)) < 0)
		die(ip);
	return fd;
}

static void ready(void)
{
	puts("ready");
	fflush(stdout);
}

/* ---- UDP ---- */

static int sink(int argc, char **argv)
{
	for (int i = 3; i < argc; i++) {
		const int size = (int)number(argv[4]);
		int fd;

		if (i == 4)
			continue;
		fd = bound(argv[2], number(argv[i]), SOCK_DGRAM);
		if (i == 3)
			setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	}
	ready();
	for (double until = now_s() + STAY_S; !is_over && now_s() < until; )
		rest_us(100000);
	return 0;
}

static int drain(int argc, char **argv)
{
	struct pollfd polls[SOCKETS_MAX];
	long received[SOCKETS_MAX] = { 0 };
	const int count = argc - 3, room = 4 << 20;
	char data[65536];

	for (int i = 0; i < count; i++) {
		polls[i] = (struct pollfd){ .fd = bound(argv[2], number(argv[3 + i]), SOCK_DGRAM),
			.events = POLLIN };
		setsockopt(polls[i].fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room));
	}
	ready();
	for (double until = now_s() + STAY_S; !is_over && now_s() < until; ) {
		poll(polls, (nfds_t)count, 100);
		for (int i = 0; i < count; i++)
			while (recv(polls[i].fd, data, sizeof(data), MSG_DONTWAIT) >= 0)
				received[i]++;
	}
	printf("received");
	for (int i = 0; i < count; i++)
		printf(" %ld", received[i]);
	puts("");
	return 0;
}

static int udp(char **argv)
{
	const struct sockaddr_in to = address(argv[2], number(argv[3]));
	const long count = number(argv[4]), bytes = number(argv[5]);
	static char data[65507];
	long sent = 0, refused = 0;
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	for (long i = 0; i < count; i++) {
		if (sendto(fd, data, (size_t)bytes, 0, (const struct sockaddr *)&to,
			   sizeof(to)) < 0)
			refused++;
		else
			sent++;
		if (i % 50 == 49)
			rest_us(2000);
	}
	printf("sent %ld refused %ld\n", sent, refused);
	return 0;
}

/* ---- packets by hand ---- */

static uint16_t checksum(const unsigned char *p, size_t len, uint32_t sum)
{
	for (size_t i = 0; i + 1 < len; i += 2)
		sum += (uint32_t)(p[i] << 8 | p[i + 1]);
	if (len % 2)
		sum += (uint32_t)(p[len - 1] << 8);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

static void put16(unsigned char *at, unsigned n)
{
	at[0] = (unsigned char)(n >> 8);
	at[1] = (unsigned char)n;
}

/* An IPv4 packet: with 12 bytes of UDP, or a SYN. */
static size_t make(unsigned char *p, uint32_t from, uint32_t to, int protocol)
{
	const size_t len = protocol == IPPROTO_TCP ? 20 : 12;
	unsigned char *l4 = p + 20;

	memset(p, 0, 64);
	p[0] = 0x45;
	put16(p + 2, (unsigned)(20 + len));
	p[8] = 64;
	p[9] = (unsigned char)protocol;
	memcpy(p + 12, &from, 4);
	memcpy(p + 16, &to, 4);
	put16(p + 10, checksum(p, 20, 0));
	put16(l4, 1234);
	put16(l4 + 2, protocol == IPPROTO_TCP ? 80 : 53);
	if (protocol == IPPROTO_TCP) {
		l4[12] = 5 << 4, l4[13] = 2;
		put16(l4 + 14, 1000);
	} else {
		put16(l4 + 4, (unsigned)len);
	}
	/* the sum of a pseudo header: addresses, protocol, length */
	const uint16_t sum = checksum(l4, len, (uint32_t)(uint16_t)~checksum(p + 12, 8, 0) +
				      (uint32_t)protocol + (uint32_t)len);

	put16(l4 + (protocol == IPPROTO_TCP ? 16 : 6), sum);
	return 20 + len;
}

static int raw(char **argv)
{
	const struct sockaddr_in via = address(argv[2], 0);
	const struct sockaddr_in from = address(argv[3], 0), to = address(argv[4], 0);
	const long count = number(argv[5]);
	unsigned char packet[64];
	int fd = socket(AF_INET, SOCK_RAW, IPPROTO_RAW);
	long sent = 0;

	if (fd < 0)
		die("raw socket");
	const size_t len = make(packet, from.sin_addr.s_addr, to.sin_addr.s_addr, IPPROTO_UDP);

	for (long i = 0; i < count; i++) {
		sent += sendto(fd, packet, len, 0, (const struct sockaddr *)&via,
			       sizeof(via)) == (ssize_t)len;
		if (i % 50 == 49)
			rest_us(2000);
	}
	printf("sent %ld\n", sent);
	return 0;
}

static int bad(char **argv)
{
	struct sockaddr_ll to = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_IP),
		.sll_halen = 6, .sll_ifindex = (int)if_nametoindex(argv[2]) };
	const struct sockaddr_in from = address(argv[4], 0), dst = address(argv[5], 0);
	const bool is_tcp = !strcmp(argv[6], "tcp"), is_ip = !strcmp(argv[6], "ip");
	const long count = number(argv[7]);
	unsigned char packet[64], *mac = to.sll_addr;
	unsigned m[6];
	char *at = argv[3];
	int fd = socket(AF_PACKET, SOCK_DGRAM, htons(ETH_P_IP));
	long sent = 0;

	for (int i = 0; i < 6; i++, at++) {
		m[i] = (unsigned)strtoul(at, &at, 16);
		mac[i] = (unsigned char)m[i];
	}
	if (fd < 0)
		die("packet socket");
	const size_t len = make(packet, from.sin_addr.s_addr, dst.sin_addr.s_addr,
				is_tcp ? IPPROTO_TCP : IPPROTO_UDP);

	packet[is_ip ? 10 : is_tcp ? 36 : 26] ^= 1;
	for (long i = 0; i < count; i++)
		sent += sendto(fd, packet, len, 0, (const struct sockaddr *)&to, sizeof(to)) ==
			(ssize_t)len;
	printf("sent %ld\n", sent);
	return 0;
}

/* ---- TCP ---- */

static int serve(char **argv, bool is_answering)
{
	static struct pollfd polls[SOCKETS_MAX];
	static char data[1 << 20];
	nfds_t count = 1;

	polls[0] = (struct pollfd){ .fd = bound(argv[2], number(argv[3]), SOCK_STREAM),
		.events = POLLIN };
	if (listen(polls[0].fd, 1024) < 0)
		die("listen");
	ready();
	for (double until = now_s() + STAY_S; !is_over && now_s() < until; ) {
		poll(polls, count, 100);
		if (polls[0].revents && count < SOCKETS_MAX)
			polls[count++] = (struct pollfd){ .fd = accept(polls[0].fd, NULL, NULL),
				.events = POLLIN };
		for (nfds_t i = 1; i < count; i++) {
			if (!polls[i].revents)
				continue;
			if (recv(polls[i].fd, data, sizeof(data), 0) <= 0) {
				close(polls[i].fd);
				polls[i--] = polls[--count];
			} else if (is_answering) {
				send(polls[i].fd, "k", 1, MSG_NOSIGNAL);
			}
		}
	}
	return 0;
}

static int connected(char **argv)
{
	const struct sockaddr_in to = address(argv[2], number(argv[3]));
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (connect(fd, (const struct sockaddr *)&to, sizeof(to)) < 0)
		die("connect");
	return fd;
}

static int bulk(char **argv)
{
	static char data[65536];
	const double until = now_s() + (double)number(argv[4]);
	int fd = connected(argv);
	long long bytes = 0;

	while (now_s() < until && !is_over) {
		struct pollfd p = { .fd = fd, .events = POLLOUT };

		poll(&p, 1, 100);
		const ssize_t n = send(fd, data, sizeof(data), MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n > 0)
			bytes += n;
	}
	printf("bytes %lld\n", bytes);
	return 0;
}

static bool is_answered(int fd, long ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	char byte;

	return poll(&p, 1, (int)ms) > 0 && recv(fd, &byte, 1, 0) == 1;
}

static int ask(char **argv)
{
	static char data[65536];
	const long bytes = number(argv[4]), ms = number(argv[5]);
	const int on = 1;
	int fd = connected(argv);

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	send(fd, data, 20, 0);
	const bool is_first = is_answered(fd, ms);

	send(fd, data, (size_t)bytes, 0);
	printf("first %s", is_first ? "ok" : "lost");
	printf(" second %s\n", is_answered(fd, ms) ? "ok" : "lost");
	return 0;
}

static int connects(char **argv)
{
	static struct pollfd polls[SOCKETS_MAX];
	const struct sockaddr_in to = address(argv[2], number(argv[3]));
	const long count = number(argv[4]);
	const double until = now_s() + (double)number(argv[5]) / 1000;
	long done = 0;

	for (long i = 0; i < count; i++) {
		polls[i] = (struct pollfd){ .events = POLLOUT,
			.fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0) };
		if (connect(polls[i].fd, (const struct sockaddr *)&to, sizeof(to)) < 0 &&
		    errno != EINPROGRESS)
			die("connect");
	}
	while (done < count && now_s() < until && !is_over) {
		poll(polls, (nfds_t)count, 100);
		for (long i = 0; i < count; i++)
			if (polls[i].fd >= 0 && polls[i].revents & POLLOUT) {
				done++;
				polls[i].fd = -1 - polls[i].fd;        /* stays open */
			}
	}
	printf("connected %ld of %ld\n", done, count);
	return 0;
}

int main(int argc, char **argv)
{
	const struct sigaction act = { .sa_handler = end };
	const char *job = argc > 1 ? argv[1] : "";

	sigaction(SIGTERM, &act, NULL);
	sigaction(SIGINT, &act, NULL);
	if (!strcmp(job, "sink") && argc >= 5)
		return sink(argc, argv);
	if (!strcmp(job, "drain") && argc >= 4)
		return drain(argc, argv);
	if (!strcmp(job, "udp") && argc == 6)
		return udp(argv);
	if (!strcmp(job, "raw") && argc == 6)
		return raw(argv);
	if (!strcmp(job, "bad") && argc == 8)
		return bad(argv);
	if ((!strcmp(job, "serve") || !strcmp(job, "eat")) && argc == 4)
		return serve(argv, job[0] == 's');
	if (!strcmp(job, "bulk") && argc == 5)
		return bulk(argv);
	if (!strcmp(job, "ask") && argc == 6)
		return ask(argv);
	if (!strcmp(job, "connects") && argc == 6)
		return connects(argv);
	fprintf(stderr, "packets: see the head of its source\n");
	return 2;
}
