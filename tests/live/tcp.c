/*
 * TCP and UNIX listeners and clients for live tests, in a network namespace of their own if asked.
 *
 *     tcp listen ADDR PORT [OPTIONS]     ADDR "unix": PORT is a path
 *         -b N    backlog of listen (8)
 *         -g N    N sockets on that address, by SO_REUSEPORT; with -w all but one have a process
 *                 that accepts
 *         -w N    N processes that accept (0: nobody)
 *         -h MS   how long a worker holds each connection before it closes it (0)
 *         -e      workers wait in epoll, then accept
 *         -E      workers wait in epoll for something else, and never accept
 *         -f N    limit of descriptors of this process, all used up
 *         -m      MPTCP
 *     tcp connect ADDR PORT [OPTIONS]
 *         -n N    connections (1)
 *         -r N    so many a second (all at once)
 *         -s N    send N bytes as soon as it is connected
 *         -c MS   close each so long after it was begun
 *     tcp syn ADDR PORT FROM [OPTIONS]   SYNs from IPv4 address FROM, nothing more
 *         -n N    SYNs, each from another port
 *     all:
 *         -N new|PID|PATH     in a new network namespace, its loopback up; in that process's
 *         -t S    end after so long (60)
 * Prints "ready PID" when it listens or has begun all; `connect` at its end "connected N of N".
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP 262
#endif
#define CLIENTS_MAX 60000

static struct {
	const char *address, *port, *netns;
	long backlog, members, workers, hold_ms, descriptors, count, rate, bytes, close_ms, seconds;
	bool is_epoll, is_deaf, is_mptcp;
} want = { .backlog = 8, .members = 1, .count = 1, .close_ms = -1, .seconds = 60 };

struct client {
	int fd;
	bool is_connected, is_sent;
	double close_at;
};

static void die(const char *what)
{
	perror(what);
	exit(3);
}

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void rest_ms(long ms)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000 };

	while (nanosleep(&t, &t) && errno == EINTR)
		;
}

static void enter_netns(void)
{
	struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };
	char path[64];

	if (!want.netns)
		return;
	if (!strcmp(want.netns, "new")) {
		if (unshare(CLONE_NEWNET) < 0)
			die("unshare");
		int fd = socket(AF_INET, SOCK_DGRAM, 0);

		if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &lo) < 0)
			die("lo");
		close(fd);
		return;
	}
	snprintf(path, sizeof(path), *want.netns == '/' ? "%s" : "/proc/%s/ns/net", want.netns);
	int fd = open(path, O_RDONLY);

	if (fd < 0 || setns(fd, CLONE_NEWNET) < 0)
		die(path);
	close(fd);
}

static socklen_t read_address(struct sockaddr_storage *to)
{
	struct sockaddr_in *v4 = (void *)to;
	struct sockaddr_in6 *v6 = (void *)to;
	struct sockaddr_un *un = (void *)to;
	long port = strtol(want.port, NULL, 10);

	memset(to, 0, sizeof(*to));
	if (!strcmp(want.address, "unix")) {
		un->sun_family = AF_UNIX;
		snprintf(un->sun_path, sizeof(un->sun_path), "%s", want.port);
		return sizeof(*un);
	}
	if (inet_pton(AF_INET, want.address, &v4->sin_addr) == 1) {
		v4->sin_family = AF_INET;
		v4->sin_port = htons((uint16_t)port);
		return sizeof(*v4);
	}
	if (inet_pton(AF_INET6, want.address, &v6->sin6_addr) != 1) {
		fprintf(stderr, "tcp: %s is no address\n", want.address);
		exit(2);
	}
	v6->sin6_family = AF_INET6;
	v6->sin6_port = htons((uint16_t)port);
	return sizeof(*v6);
}

static int open_socket(int family, int flags)
{
	int protocol = family != AF_UNIX && want.is_mptcp ? IPPROTO_MPTCP : 0;
	int fd = socket(family, SOCK_STREAM | flags, protocol);

	if (fd < 0)
		die("socket");
	return fd;
}

static int open_listener(void)
{
	struct sockaddr_storage address;
	socklen_t len = read_address(&address);
	int fd = open_socket(address.ss_family, 0), on = 1;

	if (address.ss_family != AF_UNIX)
		setsockopt(fd, SOL_SOCKET, want.members > 1 ? SO_REUSEPORT : SO_REUSEADDR, &on,
			   sizeof(on));
	if (bind(fd, (struct sockaddr *)&address, len) < 0)
		die("bind");
	if (listen(fd, (int)want.backlog) < 0)
		die("listen");
	return fd;
}

static void accept_forever(int fd)
{
	struct epoll_event event = { .events = EPOLLIN };
	int queue = want.is_epoll || want.is_deaf ? epoll_create1(0) : -1;

	if (want.is_epoll) {
		fcntl(fd, F_SETFL, O_NONBLOCK);
		epoll_ctl(queue, EPOLL_CTL_ADD, fd, &event);
	}
	for (;;) {
		if (queue >= 0)
			epoll_wait(queue, &event, 1, -1);
		int connection = accept(fd, NULL, NULL);

		if (connection < 0)
			continue;
		if (want.hold_ms)
			rest_ms(want.hold_ms);
		close(connection);
	}
}

static void start_worker(int fd)
{
	pid_t parent = getpid();
	pid_t child = fork();

	if (child < 0)
		die("fork");
	if (child)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(0);
	accept_forever(fd);
}

static void use_up_descriptors(void)
{
	struct rlimit limit = { (rlim_t)want.descriptors, (rlim_t)want.descriptors };

	if (!want.descriptors)
		return;
	setrlimit(RLIMIT_NOFILE, &limit);
	while (dup(0) >= 0)
		;
}

static int listen_there(void)
{
	int fd = -1;

	for (long i = 1; i < want.members; i++) {
		fd = open_listener();
		if (!want.workers)
			continue;
		start_worker(fd);
		close(fd);
	}
	fd = open_listener();
	for (long i = 0; want.members == 1 && i < want.workers; i++)
		start_worker(fd);
	use_up_descriptors();
	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	rest_ms(want.seconds * 1000);
	return 0;
}

static void begin_client(struct client *c)
{
	struct sockaddr_storage address;
	socklen_t len = read_address(&address);

	c->fd = open_socket(address.ss_family, SOCK_NONBLOCK);
	if (connect(c->fd, (struct sockaddr *)&address, len) < 0 && errno != EINPROGRESS &&
	    errno != EAGAIN)
		die("connect");
	c->close_at = want.close_ms < 0 ? 1e18 : now_s() + (double)want.close_ms / 1000;
}

/* Sends what is to be sent, and notices that it is connected. */
static void tend_client(struct client *c)
{
	struct pollfd p = { .fd = c->fd, .events = POLLOUT };
	static const char zeros[4096];

	if (c->fd < 0)
		return;
	if (!c->is_connected && poll(&p, 1, 0) > 0 && p.revents & POLLOUT &&
	    !(p.revents & (POLLERR | POLLHUP)))
		c->is_connected = true;
	if (c->is_connected && !c->is_sent && want.bytes) {
		size_t n = (size_t)want.bytes < sizeof(zeros) ? (size_t)want.bytes : sizeof(zeros);

		c->is_sent = send(c->fd, zeros, n, MSG_NOSIGNAL) > 0;
	}
	if (now_s() >= c->close_at) {
		close(c->fd);
		c->fd = -1;
	}
}

static int connect_there(void)
{
	struct client *clients = calloc((size_t)want.count, sizeof(*clients));
	double start = now_s(), end = start + (double)want.seconds;
	long begun = 0, connected = 0;
	bool is_ready = false;

	while (now_s() < end) {
		while (begun < want.count &&
		       (!want.rate || begun < (long)((now_s() - start) * (double)want.rate) + 1))
			begin_client(&clients[begun++]);
		for (long i = 0; i < begun; i++)
			tend_client(&clients[i]);
		if (begun == want.count && !is_ready) {
			printf("ready %d\n", (int)getpid());
			fflush(stdout);
			is_ready = true;
		}
		rest_ms(2);
	}
	for (long i = 0; i < begun; i++)
		connected += clients[i].is_connected;
	printf("connected %ld of %ld\n", connected, begun);
	free(clients);
	return 0;
}

/* RFC 1071, over 16-bit words as they stand in memory; len is even. */
static uint32_t add_words(uint32_t sum, const void *data, size_t len)
{
	const uint8_t *p = data;

	for (size_t i = 0; i < len; i += 2) {
		uint16_t word;

		memcpy(&word, p + i, sizeof(word));
		sum += word;
	}
	return sum;
}

static uint16_t tcp_checksum(const struct tcphdr *h, struct in_addr from, struct in_addr to)
{
	const uint16_t tail[] = { htons(IPPROTO_TCP), htons(sizeof(*h)) };
	uint32_t sum = add_words(add_words(0, &from, 4), &to, 4);

	sum = add_words(add_words(sum, tail, sizeof(tail)), h, sizeof(*h));
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

static int send_syns(const char *from_text)
{
	struct sockaddr_in to = { .sin_family = AF_INET }, from = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_RAW, IPPROTO_TCP), on = 1;

	if (fd < 0)
		die("raw socket");
	if (inet_pton(AF_INET, want.address, &to.sin_addr) != 1 ||
	    inet_pton(AF_INET, from_text, &from.sin_addr) != 1)
		die("address");
	/* nobody need have that address: then nobody resets what is answered */
	setsockopt(fd, IPPROTO_IP, IP_TRANSPARENT, &on, sizeof(on));
	if (bind(fd, (struct sockaddr *)&from, sizeof(from)) < 0)
		die(from_text);
	for (long i = 0; i < want.count; i++) {
		struct tcphdr h = {
			.source = htons((uint16_t)(10000 + i % 50000)),
			.dest = htons((uint16_t)strtol(want.port, NULL, 10)),
			.seq = htonl((uint32_t)i * 7919u), .doff = sizeof(h) / 4, .syn = 1,
			.window = htons(64240),
		};

		h.check = tcp_checksum(&h, from.sin_addr, to.sin_addr);
		sendto(fd, &h, sizeof(h), 0, (struct sockaddr *)&to, sizeof(to));
	}
	printf("sent %ld\n", want.count);
	return 0;
}

static void read_options(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "b:g:w:h:eEf:mn:r:s:c:N:t:")) != -1) {
		long n = optarg ? strtol(optarg, NULL, 10) : 0;

		switch (c) {
		case 'b': want.backlog = n; break;
		case 'g': want.members = n; break;
		case 'w': want.workers = n; break;
		case 'h': want.hold_ms = n; break;
		case 'e': want.is_epoll = true; break;
		case 'E': want.is_deaf = true; break;
		case 'f': want.descriptors = n; break;
		case 'm': want.is_mptcp = true; break;
		case 'n': want.count = n; break;
		case 'r': want.rate = n; break;
		case 's': want.bytes = n; break;
		case 'c': want.close_ms = n; break;
		case 'N': want.netns = optarg; break;
		case 't': want.seconds = n; break;
		default: exit(2);
		}
	}
	if (want.count < 1 || want.count > CLIENTS_MAX) {
		fputs("tcp: -n: 1 to 60000\n", stderr);
		exit(2);
	}
}

int main(int argc, char **argv)
{
	if (argc < 4) {
		fputs("usage: tcp listen|connect ADDR PORT [OPTIONS]\n", stderr);
		return 2;
	}
	want.address = argv[2];
	want.port = argv[3];
	signal(SIGCHLD, SIG_IGN);
	if (!strcmp(argv[1], "syn") && argc > 4) {
		read_options(argc - 4, argv + 4);
		enter_netns();
		return send_syns(argv[4]);
	}
	read_options(argc - 3, argv + 3);
	enter_netns();
	return strcmp(argv[1], "listen") ? connect_there() : listen_there();
}
