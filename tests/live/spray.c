/*
 * UDP to many addresses of 127.0.0.0/8, each datagram a flow of its own: what fills a connection
 * tracking table.
 *
 *     spray COUNT FIRST [PORT [SOURCE]]     COUNT datagrams to FIRST, FIRST + 1 ..., port 9999
 *     spray -p COUNT ADDRESS PORT SOURCE    COUNT datagrams to one ADDRESS from as many ports of
 *                                           SOURCE, from 1024 on
 *
 *     spray -i COUNT ADDRESS                COUNT ICMP echo replies that nobody asked for: invalid
 *
 * Then prints "sent N refused M".
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int udp(const char *address, unsigned port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	if (fd < 0 || inet_pton(AF_INET, address, &a.sin_addr) != 1 ||
	    bind(fd, (const struct sockaddr *)&a, sizeof(a))) {
		perror(address);
		exit(1);
	}
	return fd;
}

static int from_many_ports(char **argv)
{
	const long count = strtol(argv[2], NULL, 10);
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_port = htons((uint16_t)strtoul(argv[4], NULL, 10)) };
	long sent = 0, refused = 0;

	if (inet_pton(AF_INET, argv[3], &to.sin_addr) != 1)
		return 2;
	for (long i = 0; i < count; i++) {
		int fd = udp(argv[5], 1024 + (unsigned)i);

		if (sendto(fd, "x", 1, 0, (const struct sockaddr *)&to, sizeof(to)) < 0)
			refused++;
		else
			sent++;
		close(fd);
	}
	printf("sent %ld refused %ld\n", sent, refused);
	return 0;
}

/* Type 0, code 0, checksum, id 7, sequence 0. */
static int unasked(char **argv)
{
	const long count = strtol(argv[2], NULL, 10);
	const unsigned char reply[8] = { 0, 0, 0xff, 0xf8, 0, 7, 0, 0 };
	struct sockaddr_in to = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_RAW, IPPROTO_ICMP);
	long sent = 0, refused = 0;

	if (fd < 0 || inet_pton(AF_INET, argv[3], &to.sin_addr) != 1)
		return 2;
	for (long i = 0; i < count; i++)
		if (sendto(fd, reply, sizeof(reply), 0, (const struct sockaddr *)&to, sizeof(to)) <
		    0)
			refused++;
		else
			sent++;
	printf("sent %ld refused %ld\n", sent, refused);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "-i"))
		return unasked(argv);
	if (argc == 6 && !strcmp(argv[1], "-p"))
		return from_many_ports(argv);
	if (argc < 3) {
		fprintf(stderr, "usage: spray COUNT FIRST [PORT [SOURCE]]\n");
		return 2;
	}
	const long count = strtol(argv[1], NULL, 10);
	const unsigned port = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 9999;
	/* without somebody there ICMP answers would be flows of their own kind */
	const int in = udp("0.0.0.0", port), out = udp(argc > 4 ? argv[4] : "0.0.0.0", 0);
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	uint32_t first;
	char byte;
	long sent = 0, refused = 0;

	if (inet_pton(AF_INET, argv[2], &to.sin_addr) != 1)
		return 2;
	first = ntohl(to.sin_addr.s_addr);
	for (long i = 0; i < count; i++) {
		to.sin_addr.s_addr = htonl(first + (uint32_t)i);
		if (sendto(out, "x", 1, 0, (const struct sockaddr *)&to, sizeof(to)) < 0)
			refused++;
		else
			sent++;
		while (recv(in, &byte, 1, MSG_DONTWAIT) > 0)
			;
	}
	printf("sent %ld refused %ld\n", sent, refused);
	return 0;
}
