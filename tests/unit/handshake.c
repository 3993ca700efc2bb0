/* What a saved run says of handshakes, and those of this program's own sockets. */
#include "common/kernel/handshake.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/fail.h"
#include "common/kernel/source.h"
#include "tests/unit/check.h"
#include "tests/unit/cut.h"

#define CONNECTIONS 5

static struct arena arena;

static const char recorded[] =
	"4026532246 2 0a090201000000000000000000000000 8080 9 10\n"
	"4026532246 10 00000000000000000000ffff0a090201 8081 24 0\n"
	"4026532247 2 0a090202000000000000000000000000 8080 3 -\n"
	"0 10 20010db8000000000000000000000001 443 18446744073709551615 1\n"
	"lost 3\n";

static void check_recorded(void)
{
	const struct handshake_row *r = NULL;
	uint64_t lost = 0;
	size_t n = 0;

	CHECK(handshake_parse(text_of(recorded), &arena, &r, &n, &lost) == 0);
	CHECK(n == 4 && lost == 3);
	CHECK(r[0].place.netns == 4026532246 && r[0].place.family == AF_INET);
	CHECK(r[0].place.port == 8080 && r[0].count.arrived == 9 && r[0].count.refused == 10);
	CHECK(!memcmp(r[0].place.address, "\x0a\x09\x02\x01\0\0\0\0\0\0\0\0\0\0\0\0", 16));
	CHECK(r[1].place.family == AF_INET6 && r[1].place.address[10] == 0xff);
	CHECK(r[2].count.arrived == 3 && r[2].count.refused == NA_U64);
	CHECK(r[3].place.netns == 0 && r[3].count.arrived == UINT64_MAX);
}

static void check_bad(void)
{
	static const char *const bad[] = {
		"", "\n", "lost\n", "lost x\n", "lost 1 2\n", "lost 1",
		"1 2 0a0902010000000000000000000000 1 2 3\nlost 0\n",
		"1 2 0a0902010000000000000000000000zz 1 2 3\nlost 0\n",
		"1 2 0a09020100000000000000000000000 01 2 3\nlost 0\n",
		"1 2 0a090201000000000000000000000000 65536 2 3\nlost 0\n",
		"1 65536 0a090201000000000000000000000000 1 2 3\nlost 0\n",
		"4294967296 2 0a090201000000000000000000000000 1 2 3\nlost 0\n",
		"1 2 0a090201000000000000000000000000 1 2\nlost 0\n",
		"1 2 0a090201000000000000000000000000 1 2 3 4\nlost 0\n",
		"1 2 0a090201000000000000000000000000 1 2 -3\nlost 0\n",
		"1 2 0a090201000000000000000000000000 1 - 3\nlost 0\n",
		"1 2 3 4 5 6\nlost 0\n",
	};
	const struct handshake_row *r = NULL;
	uint64_t lost = 7;
	size_t n = 99;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (!CHECK(handshake_parse(text_of(bad[i]), &arena, &r, &n, &lost) == -EINVAL))
			printf("%zu: %s\n", i, bad[i]);
	CHECK(!r && n == 99 && lost == 7);
	EACH_CUT(len, text_of(recorded)) {
		const int err = handshake_parse(cut(text_of(recorded), len), &arena, &r, &n, &lost);

		CHECK(len == strlen(recorded) ? !err : err == -EINVAL && !r);
	}
}

/* Arrivals at this port of 127.0.0.1; NA_U64: they could not be read. */
static uint64_t arrivals(uint16_t port)
{
	static const uint8_t loopback[16] = { 127, 0, 0, 1 };
	const struct handshake_row *rows;
	uint64_t lost;
	size_t n;

	if (handshake_read(&rows, &n, &lost))
		return UINT64_MAX;
	for (size_t i = 0; i < n; i++)
		if (rows[i].place.port == port && rows[i].place.family == AF_INET &&
		    !memcmp(rows[i].place.address, loopback, sizeof(loopback)))
			return rows[i].count.arrived;
	return 0;
}

static void check_live(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	socklen_t len = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM, 0), clients[CONNECTIONS];

	CHECK(src_open_live() == 0 && src_frame_begin() == 1);
	if (handshake_open()) {
		check_skip("live", fail_text());
		src_close();
		close(listener);
		return;
	}
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	CHECK(!bind(listener, (struct sockaddr *)&address, len) && !listen(listener, 16) &&
	      !getsockname(listener, (struct sockaddr *)&address, &len));
	CHECK(arrivals(ntohs(address.sin_port)) == 0);
	for (int i = 0; i < CONNECTIONS; i++) {
		clients[i] = socket(AF_INET, SOCK_STREAM, 0);
		CHECK(!connect(clients[i], (struct sockaddr *)&address, len));
	}
	/* once per frame: the same numbers until it ends */
	CHECK(arrivals(ntohs(address.sin_port)) == 0);
	src_frame_end();
	CHECK(src_frame_begin() == 1 && arrivals(ntohs(address.sin_port)) == CONNECTIONS);
	for (int i = 0; i < CONNECTIONS; i++)
		close(clients[i]);
	close(listener);
	handshake_close();
	src_frame_end();
	CHECK(src_frame_begin() == 1 && arrivals(1) == UINT64_MAX);
	src_close();
}

int main(void)
{
	check_recorded();
	check_bad();
	check_live();
	arena_free(&arena);
	return check_done("handshake");
}
