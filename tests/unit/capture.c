#include "common/kernel/capture.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>

#include "common/base/fail.h"
#include "tests/unit/check.h"

static void check_good(const char *filter)
{
	unsigned n = 0;

	if (!CHECK(!capture_check_filter(filter, &n)))
		printf("    %s: %s\n", filter, fail_text());
	CHECK(n > 0);
}

static void check_bad(const char *filter, const char *text)
{
	unsigned n = 77;

	CHECK(capture_check_filter(filter, &n) == -EINVAL);
	CHECK_STR(fail_text(), text);
	CHECK(n == 77);
}

static void check_filters(void)
{
	check_good("");
	check_good("host 10.0.0.1 and port 80");
	check_good("host 2001:db8::1 and not tcp port 443");
	check_good("net 10.0.0.0/8 or net 2001:db8::/32");
	check_good("portrange 6000-6008");
	check_good("ether host 02:00:00:00:00:01");
	check_good("ip proto 6 and tcp[tcpflags] & (tcp-syn|tcp-fin) != 0");
	check_bad("host example.com", "unknown host 'example.com' (names are not looked up: give "
				      "the number) in filter \"host example.com\"");
	check_bad("port http", "unknown port 'http' (names are not looked up: give the number) "
			       "in filter \"port http\"");
	check_bad("net loopback", "unknown network 'loopback' (names are not looked up: give the "
				  "number) in filter \"net loopback\"");
	check_bad("ether host me", "unknown ether host 'me' (names are not looked up: give the "
				   "number) in filter \"ether host me\"");
	check_bad("host (", "can't parse filter expression: syntax error in filter \"host (\"");

	unsigned one = 0, more = 0;

	CHECK(!capture_check_filter("ip", &one) && !capture_check_filter("ip and tcp", &more));
	CHECK(more > one);
}

static void check_numeric_addresses(void)
{
	const struct addrinfo v6_only = { .ai_family = AF_INET6, .ai_socktype = SOCK_DGRAM };
	struct addrinfo *info = NULL;

	CHECK(!getaddrinfo("192.0.2.7", "8080", NULL, &info));
	const struct sockaddr_in *in4 = (const void *)info->ai_addr;

	CHECK(info->ai_family == AF_INET && info->ai_addrlen == sizeof(*in4) && !info->ai_next);
	CHECK(in4->sin_addr.s_addr == inet_addr("192.0.2.7") && in4->sin_port == htons(8080));
	freeaddrinfo(info);

	CHECK(!getaddrinfo("::1", NULL, &v6_only, &info));
	CHECK(info->ai_family == AF_INET6 && info->ai_socktype == SOCK_DGRAM);
	freeaddrinfo(info);

	CHECK(getaddrinfo("192.0.2.7", NULL, &v6_only, &info) == EAI_NONAME);
	CHECK(getaddrinfo("localhost", NULL, NULL, &info) == EAI_NONAME);
	CHECK(getaddrinfo("192.0.2.256", NULL, NULL, &info) == EAI_NONAME);
	CHECK(getaddrinfo("192.0.2.7", "65536", NULL, &info) == EAI_SERVICE);
	CHECK(getaddrinfo(NULL, "http", NULL, &info) == EAI_SERVICE);
}

int main(void)
{
	CHECK(!strncmp(capture_library_version(), "libpcap version 1.", 18));
	check_filters();
	check_numeric_addresses();
	return check_done("capture");
}
