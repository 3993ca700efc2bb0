/*
 * What sockdiag_each costs over the kernel's own dump, in a network namespace of its own: 40,000
 * connected TCP sockets and 100 listeners, both ways in turn, medians of the rounds. Raw: the same
 * request (one walk for both families), received with 32 KiB and not looked at. Prints lines "NAME
 * RAW_US OURS_US".
 *
 *     sockdump [connections [rounds]]       as root
 *     sockdump connections 0                only makes them, says "ready", and waits
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "common/base/fail.h"
#include "common/kernel/sockdiag.h"
#include "common/kernel/source.h"

#define LISTENERS 100
#define ROUNDS_MAX 101
#define FIRST_PORT 2000
#define PER_PROCESS 5000               /* connections, both ends */
#define DESTINATIONS 8                 /* more than one has ports for */
#define RAW_BYTES 32768

static _Noreturn void die(const char *what)
{
	perror(what);
	exit(1);
}

static void enter_namespace(void)
{
	struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	struct rlimit files;

	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	if (unshare(CLONE_NEWNET))
		die("unshare");
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &lo))
		die("lo");
	close(fd);
}

static struct sockaddr_in loopback(unsigned host, unsigned port)
{
	return (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons((uint16_t)port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK + host) };
}

static int start_listener(unsigned port)
{
	const struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (fd < 0 || bind(fd, (const struct sockaddr *)&at, sizeof(at)) || listen(fd, 128))
		die("listen");
	return fd;
}

static void connect_some(int first, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		const struct sockaddr_in to = loopback(i % DESTINATIONS, FIRST_PORT);
		int fd = socket(AF_INET, SOCK_STREAM, 0);

		if (fd < 0 || connect(fd, (const struct sockaddr *)&to, sizeof(to)) ||
		    accept(first, NULL, NULL) < 0)
			die("connect");
	}
}

/* In as many processes as the limit of open files asks for; they end with this one. */
static void start_connections(unsigned count)
{
	int ready[2], first = start_listener(FIRST_PORT);
	char byte;

	for (unsigned i = 1; i < LISTENERS; i++)
		start_listener(FIRST_PORT + i);
	if (pipe(ready))
		die("pipe");
	for (unsigned left = count; left;) {
		const unsigned now = left < PER_PROCESS ? left : PER_PROCESS;

		if (!fork()) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			connect_some(first, now);
			if (write(ready[1], "", 1) != 1)
				die("write");
			for (;;)
				pause();
		}
		if (read(ready[0], &byte, 1) != 1)
			die("read");
		left -= now;
	}
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void dump_raw(unsigned states)
{
	static char data[RAW_BYTES];
	const struct {
		struct nlmsghdr h;
		struct inet_diag_req r;
	} request = {
		{ .nlmsg_len = sizeof(request), .nlmsg_type = TCPDIAG_GETSOCK,
		  .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
		{ .idiag_family = AF_INET, .idiag_states = states,
		  .idiag_ext = 1 << (INET_DIAG_SKMEMINFO - 1) },
	};
	int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_SOCK_DIAG);

	if (fd < 0 || send(fd, &request, sizeof(request), 0) < 0)
		die("netlink");
	for (;;) {
		ssize_t n = recv(fd, data, sizeof(data), 0);
		struct nlmsghdr h;

		if (n < (ssize_t)sizeof(h))
			die("recv");
		memcpy(&h, data, sizeof(h));
		if (h.nlmsg_type == NLMSG_DONE)
			break;
	}
	close(fd);
}

static uint64_t bytes_seen;

static void take(const struct sock *s, void *arg)
{
	(void)arg;
	bytes_seen += s->receive_queue + s->local.port + s->drops;
}

static uint64_t time_raw(unsigned states)
{
	const uint64_t start = now_ns();

	dump_raw(states);
	return now_ns() - start;
}

static uint64_t time_ours(unsigned states, uint64_t *seen)
{
	const struct sockdiag_query q = { .protocol = IPPROTO_TCP, .ipv4 = true, .ipv6 = true,
		.states = states, .memory = true };
	struct sockdiag_result result = { 0 };
	const uint64_t start = now_ns();

	if (sockdiag_each(&q, take, NULL, &result) || result.is_partial || result.lacks) {
		fprintf(stderr, "sockdump: %s\n", result.lacks ? result.lacks : fail_text());
		exit(1);
	}
	*seen = result.seen;
	return now_ns() - start;
}

static int by_value(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void compare(const char *name, unsigned states, unsigned rounds, uint64_t expect)
{
	uint64_t raw[ROUNDS_MAX], ours[ROUNDS_MAX], seen = 0;

	for (unsigned i = 0; i < rounds; i++) {
		raw[i] = time_raw(states);
		src_frame_begin();
		ours[i] = time_ours(states, &seen);
		src_frame_end();
	}
	if (seen != expect) {
		fprintf(stderr, "sockdump: %llu sockets, not %llu\n", (unsigned long long)seen,
			(unsigned long long)expect);
		exit(1);
	}
	qsort(raw, rounds, sizeof(*raw), by_value);
	qsort(ours, rounds, sizeof(*ours), by_value);
	printf("%s %.1f %.1f\n", name, (double)raw[rounds / 2] / 1e3,
	       (double)ours[rounds / 2] / 1e3);
}

int main(int argc, char **argv)
{
	const unsigned connections = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 20000;
	const unsigned rounds = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 21;

	if (rounds > ROUNDS_MAX)
		return 2;
	enter_namespace();
	start_connections(connections);
	if (!rounds) {
		puts("ready");
		fflush(stdout);
		pause();
	}
	if (src_open_live())
		return 1;
	compare("listeners", SOCK_BIT(SOCK_LISTEN), rounds, LISTENERS);
	compare("all", ~0u, rounds, LISTENERS + 2 * connections);
	src_close();
	return bytes_seen == 0;
}
