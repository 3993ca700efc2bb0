/*
 * Both ends of a web server under test: a prefork backend, and the clients in front.
 *
 *     http serve ADDR PORT [OPTIONS]     answers each request after a while
 *         -w N     processes that accept, each with one connection at a time (5)
 *         -h MS    how long a request takes (20)
 *         -b N     backlog of listen (128)
 *         -k       lets the other side close first, and so have the TIME_WAIT
 *     http load ADDR PORT [OPTIONS]      clients that ask all at once, again and again
 *         -c N     clients (30)
 *         -p MS    how often those that wait for no answer ask (100)
 *         -g MS    when one gives up (500)
 *         -t S     end after so long (120)
 * Prints "ready PID"; `load` when it ends or is ended also "answered N refused N gave-up N".
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define CLIENTS_MAX 1000

/* Only who knows the length can close before the other side has. */
static const char answer[] = "HTTP/1.0 200 OK\r\n\r\nok\n";
static const char sized_answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok\n";
static const char request[] = "GET / HTTP/1.0\r\nHost: test\r\n\r\n";

static struct {
	long workers, work_ms, backlog, clients, period_ms, patience_ms, seconds;
	bool is_patient;
} want = { .workers = 5, .work_ms = 20, .backlog = 128, .clients = 30, .period_ms = 100,
	   .patience_ms = 500, .seconds = 120 };

struct client {
	int fd;                        /* -1: asks at the next round */
	bool is_asked, is_ok;
	double since;
};

static struct client clients[CLIENTS_MAX];
static unsigned long answered, refused, gave_up;
static volatile sig_atomic_t is_over;

static void die(const char *what)
{
	perror(what);
	exit(3);
}

static void be_over(int signal_number)
{
	(void)signal_number;
	is_over = 1;
}

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static struct sockaddr_in address(const char *ip, const char *port)
{
	struct sockaddr_in a = { .sin_family = AF_INET };

	a.sin_port = htons((uint16_t)strtol(port, NULL, 10));
	if (inet_pton(AF_INET, ip, &a.sin_addr) != 1)
		die(ip);
	return a;
}

static void be_ready(void)
{
	printf("ready %d\n", (int)getpid());
	fflush(stdout);
}

/* ---- the backend ---- */

/* Small requests: one read has all of one. */
static void serve_connection(int fd)
{
	struct timespec work = { want.work_ms / 1000, want.work_ms % 1000 * 1000000 };
	const char *reply = want.is_patient ? sized_answer : answer;
	char text[4096];

	do {
		if (read(fd, text, sizeof(text)) <= 0)
			break;
		nanosleep(&work, NULL);
		if (send(fd, reply, strlen(reply), MSG_NOSIGNAL) < 0)
			break;
	} while (want.is_patient);
	close(fd);
}

static void start_worker(int listener)
{
	pid_t parent = getpid(), child = fork();

	if (child < 0)
		die("fork");
	if (child)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (getppid() == parent) {
		int fd = accept(listener, NULL, NULL);

		if (fd >= 0)
			serve_connection(fd);
	}
	_exit(0);
}

static int serve(struct sockaddr_in a)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, (struct sockaddr *)&a, sizeof(a)) < 0 || listen(fd, (int)want.backlog) < 0)
		die("listen");
	for (long i = 0; i < want.workers; i++)
		start_worker(fd);
	be_ready();
	while (!is_over)
		pause();
	return 0;
}

/* ---- the clients ---- */

static void end_client(struct client *c, unsigned long *how)
{
	close(c->fd);
	c->fd = -1;
	++*how;
}

static void ask(struct client *c, struct sockaddr_in a)
{
	*c = (struct client){ socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), false, false,
			      now_ms() };
	if (c->fd < 0)
		die("socket");
	if (connect(c->fd, (struct sockaddr *)&a, sizeof(a)) < 0 && errno != EINPROGRESS)
		end_client(c, &refused);
}

static void read_answer(struct client *c)
{
	char text[4096];
	ssize_t n;

	while ((n = read(c->fd, text, sizeof(text))) > 0)
		c->is_ok |= n > 12 && !memcmp(text + 9, "200", 3);
	if (!n || errno != EAGAIN)
		end_client(c, c->is_ok ? &answered : &refused);
}

static void tend(struct client *c, short seen)
{
	if (c->fd < 0)
		return;
	if (seen && !c->is_asked)
		c->is_asked = send(c->fd, request, sizeof(request) - 1, MSG_NOSIGNAL) > 0;
	if (seen & (POLLIN | POLLERR | POLLHUP))
		read_answer(c);
	else if (now_ms() > c->since + (double)want.patience_ms)
		end_client(c, &gave_up);
}

static void tend_all(int timeout_ms)
{
	static struct pollfd polled[CLIENTS_MAX];

	for (long i = 0; i < want.clients; i++) {
		const struct client *c = &clients[i];

		polled[i] = (struct pollfd){ c->fd, c->is_asked ? POLLIN : POLLOUT, 0 };
	}
	if (poll(polled, (nfds_t)want.clients, timeout_ms) < 0)
		return;
	for (long i = 0; i < want.clients; i++)
		tend(&clients[i], polled[i].revents);
}

/*
 * The clients stand for as many machines, which don't wait for the server's CPU: they share the
 * first one with it, if they may, and go before it.
 */
static void go_first(void)
{
	struct sched_param priority = { .sched_priority = 1 };
	cpu_set_t first;

	CPU_ZERO(&first);
	CPU_SET(0, &first);
	if (sched_setaffinity(0, sizeof(first), &first) < 0 ||
	    sched_setscheduler(0, SCHED_FIFO, &priority) < 0)
		perror("http: no real time");
}

static int load(struct sockaddr_in a)
{
	double start = now_ms(), round = start;

	for (long i = 0; i < want.clients; i++)
		clients[i].fd = -1;
	go_first();
	be_ready();
	while (!is_over && now_ms() < start + (double)want.seconds * 1e3) {
		double left = round - now_ms();

		if (left > 0) {
			tend_all((int)left + 1);
			continue;
		}
		for (long i = 0; i < want.clients; i++)
			if (clients[i].fd < 0)
				ask(&clients[i], a);
		while (round <= now_ms())
			round += (double)want.period_ms;
	}
	printf("answered %lu refused %lu gave-up %lu\n", answered, refused, gave_up);
	return 0;
}

static void read_options(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "w:h:b:kc:p:g:t:")) != -1) {
		long n = optarg ? strtol(optarg, NULL, 10) : 0;

		switch (c) {
		case 'w': want.workers = n; break;
		case 'h': want.work_ms = n; break;
		case 'b': want.backlog = n; break;
		case 'k': want.is_patient = true; break;
		case 'c': want.clients = n; break;
		case 'p': want.period_ms = n; break;
		case 'g': want.patience_ms = n; break;
		case 't': want.seconds = n; break;
		default: exit(2);
		}
	}
	if (want.clients < 1 || want.clients > CLIENTS_MAX || want.period_ms < 1) {
		fputs("http: -c: 1 to 1000, -p: 1 and more\n", stderr);
		exit(2);
	}
}

int main(int argc, char **argv)
{
	struct sigaction over = { .sa_handler = be_over };

	if (argc < 4) {
		fputs("usage: http serve|load ADDR PORT [OPTIONS]\n", stderr);
		return 2;
	}
	read_options(argc - 3, argv + 3);
	sigaction(SIGTERM, &over, NULL);
	struct sockaddr_in a = address(argv[2], argv[3]);

	return strcmp(argv[1], "load") ? serve(a) : load(a);
}
