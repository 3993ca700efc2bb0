/*
 * Uses up local ports, for live tests. Its arguments are steps, done one after the other; each says
 * on stdout what came of it ("connect ok=50 EADDRNOTAVAIL=10"). Sockets stay open until it ends.
 *
 *     serve ADDR PORT              a child accepts there, and closes when the other side has
 *     drop ADDR PORT               the same, but it closes at once: TIME_WAIT is the server's
 *     listen ADDR PORT             listens and never accepts
 *     connect ADDR PORT N          N connections
 *     close ADDR PORT N            N connections, each closed at once: TIME_WAIT is ours
 *     rate ADDR PORT PER_S TENTHS  the same at a rate, for as many tenths of a second
 *     bound FROM ADDR PORT N       N connections bound to FROM, port 0, before they connect
 *     udp N                        N UDP sockets bound to port 0
 *     udprate PER_S TENTHS         the same at a rate
 *     udpto ADDR PORT N            N connected UDP sockets
 *     hold                         stays until it is killed
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define BACKLOG 4096

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static uint32_t number(const char *s)
{
	char *end;
	unsigned long n = strtoul(s, &end, 10);

	if (*end || end == s)
		die(s);
	return (uint32_t)n;
}

static struct sockaddr_in address(const char *ip, const char *port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons((uint16_t)number(port)) };

	if (inet_pton(AF_INET, ip, &a.sin_addr) != 1)
		die(ip);
	return a;
}

static int listen_at(struct sockaddr_in a)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof(a)) || listen(fd, BACKLOG))
		die("listen");
	return fd;
}

static void watch(int epoll, int fd)
{
	struct epoll_event e = { .events = EPOLLIN, .data.fd = fd };

	if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &e))
		die("epoll_ctl");
}

static void answer(int listener, bool is_dropping)
{
	int epoll = epoll_create1(0);
	struct epoll_event e;
	char nothing[16];

	watch(epoll, listener);
	for (;;) {
		if (epoll_wait(epoll, &e, 1, -1) != 1)
			continue;
		if (e.data.fd != listener) {
			if (read(e.data.fd, nothing, sizeof(nothing)) <= 0)
				close(e.data.fd);
			continue;
		}
		int fd = accept(listener, NULL, NULL);

		if (fd < 0)
			continue;
		if (is_dropping)
			close(fd);
		else
			watch(epoll, fd);
	}
}

static void serve(struct sockaddr_in a, bool is_dropping)
{
	int fd = listen_at(a);

	if (!fork()) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		answer(fd, is_dropping);
	}
	close(fd);
}

static void wait_ns(uint64_t ns)
{
	struct timespec t = { (time_t)(ns / 1000000000u), (long)(ns % 1000000000u) };

	nanosleep(&t, NULL);
}

struct kind {
	int type;
	bool is_closing;               /* at once */
	const struct sockaddr_in *from, *to;   /* NULL: neither bound nor connected */
};

static int make(const struct kind *k)
{
	int fd = socket(AF_INET, k->type, 0);

	if (fd < 0)
		die("socket");
	if ((k->from && bind(fd, (const struct sockaddr *)k->from, sizeof(*k->from))) ||
	    (k->to && connect(fd, (const struct sockaddr *)k->to, sizeof(*k->to)))) {
		int err = errno;

		close(fd);
		return err;
	}
	if (k->is_closing)
		close(fd);
	return 0;
}

static void make_many(const char *name, const struct kind *k, uint32_t count, uint64_t gap_ns)
{
	uint32_t ok = 0, unavailable = 0, in_use = 0, again = 0, other = 0;

	for (uint32_t i = 0; i < count; i++) {
		int err = make(k);

		ok += !err;
		unavailable += err == EADDRNOTAVAIL;
		in_use += err == EADDRINUSE;
		again += err == EAGAIN;
		other += err && err != EADDRNOTAVAIL && err != EADDRINUSE && err != EAGAIN;
		if (gap_ns)
			wait_ns(gap_ns);
	}
	printf("%s ok=%u EADDRNOTAVAIL=%u EADDRINUSE=%u EAGAIN=%u other=%u\n", name, ok,
	       unavailable, in_use, again, other);
	fflush(stdout);
}

/* The step's name at w[0], its operands behind. */
static void do_step(char **w)
{
	static const struct sockaddr_in any = { .sin_family = AF_INET };
	struct sockaddr_in a, from;
	struct kind k = { .type = SOCK_STREAM };

	if (!strcmp(w[0], "serve") || !strcmp(w[0], "drop")) {
		serve(address(w[1], w[2]), *w[0] == 'd');
	} else if (!strcmp(w[0], "listen")) {
		listen_at(address(w[1], w[2]));
	} else if (!strcmp(w[0], "connect") || !strcmp(w[0], "close")) {
		a = address(w[1], w[2]);
		k.to = &a;
		k.is_closing = w[0][1] == 'l';
		make_many(w[0], &k, number(w[3]), 0);
	} else if (!strcmp(w[0], "rate")) {
		a = address(w[1], w[2]);
		k.to = &a;
		k.is_closing = true;
		make_many(w[0], &k, number(w[3]) * number(w[4]) / 10, 1000000000u / number(w[3]));
	} else if (!strcmp(w[0], "bound")) {
		from = address(w[1], "0");
		a = address(w[2], w[3]);
		k.from = &from;
		k.to = &a;
		make_many(w[0], &k, number(w[4]), 0);
	} else if (!strcmp(w[0], "udp")) {
		k = (struct kind){ .type = SOCK_DGRAM, .from = &any };
		make_many(w[0], &k, number(w[1]), 0);
	} else if (!strcmp(w[0], "udprate")) {
		k = (struct kind){ .type = SOCK_DGRAM, .from = &any };
		make_many(w[0], &k, number(w[1]) * number(w[2]) / 10, 1000000000u / number(w[1]));
	} else if (!strcmp(w[0], "udpto")) {
		a = address(w[1], w[2]);
		k = (struct kind){ .type = SOCK_DGRAM, .to = &a };
		make_many(w[0], &k, number(w[3]), 0);
	} else {
		for (;;)
			pause();
	}
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int operands;
	} steps[] = {
		{ "serve", 2 }, { "drop", 2 }, { "listen", 2 }, { "connect", 3 }, { "close", 3 },
		{ "rate", 4 }, { "bound", 4 }, { "udp", 1 }, { "udprate", 2 }, { "udpto", 3 },
		{ "hold", 0 },
	};
	struct rlimit files;

	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	for (int i = 1; i < argc;) {
		size_t k = 0;

		while (k < sizeof(steps) / sizeof(steps[0]) && strcmp(argv[i], steps[k].name) != 0)
			k++;
		if (k == sizeof(steps) / sizeof(steps[0]) || i + steps[k].operands >= argc) {
			fprintf(stderr, "ports: what is '%s'?\n", argv[i]);
			return 2;
		}
		do_step(argv + i);
		i += 1 + steps[k].operands;
	}
	return 0;
}
