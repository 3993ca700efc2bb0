/*
 * More datagrams than a queue holds, and a device nobody takes them from.
 *
 *     flood send ADDR PORT COUNT [OPTIONS]     then prints "sent N refused M"
 *         -s BYTES    of payload each (100)
 *         -r N        at most so many a second (all at once)
 *     flood tap NAME [SECONDS]                 makes a tap device and never reads it; "ready PID"
 *
 * What is sent can wait in queues: the socket's own buffer is no limit (root).
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define PAYLOAD_MAX 65000
#define BUFFER_BYTES (64 << 20)
#define SECONDS_MAX 300

static volatile sig_atomic_t is_over;

static void be_over(int signal_number)
{
	(void)signal_number;
	is_over = 1;
}

static void die(const char *what)
{
	perror(what);
	exit(3);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int udp(void)
{
	const int fd = socket(AF_INET, SOCK_DGRAM, 0), bytes = BUFFER_BYTES;

	if (fd < 0)
		die("socket");
	setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof(bytes));
	return fd;
}

static struct sockaddr_in address(char **argv)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_port = htons((uint16_t)strtoul(argv[3], NULL, 10)) };

	if (inet_pton(AF_INET, argv[2], &a.sin_addr) != 1)
		die(argv[2]);
	return a;
}

static void ready(void)
{
	const struct sigaction action = { .sa_handler = be_over };

	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGALRM, &action, NULL);
	printf("ready %d\n", (int)getpid());
	fflush(stdout);
}

static int send_all(int argc, char **argv)
{
	static char payload[PAYLOAD_MAX];
	const struct sockaddr_in to = address(argv);
	const long count = strtol(argv[4], NULL, 10);
	unsigned long bytes = 100, rate = 0;
	long sent = 0, refused = 0;
	const int fd = udp();
	int option;

	optind = 5;
	while ((option = getopt(argc, argv, "s:r:")) != -1) {
		if (option == 's')
			bytes = strtoul(optarg, NULL, 10);
		else if (option == 'r')
			rate = strtoul(optarg, NULL, 10);
		else
			return 2;
	}
	if (bytes > sizeof(payload))
		return 2;
	const double began = now();

	for (long i = 0; i < count; i++) {
		const double early = rate ? began + (double)i / (double)rate - now() : 0;

		if (early > 0)
			usleep((useconds_t)(early * 1e6));
		if (sendto(fd, payload, bytes, 0, (const struct sockaddr *)&to, sizeof(to)) < 0)
			refused++;
		else
			sent++;
	}
	printf("sent %ld refused %ld\n", sent, refused);
	return 0;
}

static int tap(int argc, char **argv)
{
	struct ifreq request = { .ifr_flags = IFF_TAP | IFF_NO_PI };
	const int fd = open("/dev/net/tun", O_RDWR);

	if (fd < 0)
		die("/dev/net/tun");
	if (strlen(argv[2]) >= sizeof(request.ifr_name))
		return 2;
	strcpy(request.ifr_name, argv[2]);
	if (ioctl(fd, TUNSETIFF, &request) < 0)
		die(argv[2]);
	ready();
	alarm(argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : SECONDS_MAX);
	while (!is_over)
		pause();
	return 0;
}

int main(int argc, char **argv)
{
	if (argc >= 5 && !strcmp(argv[1], "send"))
		return send_all(argc, argv);
	if (argc >= 3 && !strcmp(argv[1], "tap"))
		return tap(argc, argv);
	fprintf(stderr, "usage: flood send|tap ...\n");
	return 2;
}
