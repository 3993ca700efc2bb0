/* What a saved run says, and real sockets: a listener, one bound before it connected, one that was
 * not. */
#include "common/kernel/boundports.h"

#include <arpa/inet.h>
#include <errno.h>
#include <sys/socket.h>

#include "common/base/fail.h"
#include "tests/unit/host.h"

static void test_replay(void)
{
	struct port_set s;

	host_add("h/manifest", "clock\t1\t1\ncall\tbpf bound ports\t0\n");
	host_add("h/calls/0", "22,40000-40002\n");
	open_root("h");
	CHECK(boundports_open() == 0);
	CHECK(boundports_read(&s) == 0 && port_set_count(&s, 0, 65535) == 4);
	CHECK(port_set_has(&s, 22) && port_set_has(&s, 40002));
	close_all();
	host_add("h/calls/0", "22,40000-40002");
	open_root("h");
	CHECK(boundports_read(&s) == -EINVAL);
	close_all();
	host_add("h/calls/0", "22\n\xff\xff");
	open_root("h");
	CHECK(boundports_read(&s) == 0 && port_set_count(&s, 0, 65535) == 1);
	close_all();
	host_add("h/calls/0", "99999999999999999999\n");
	open_root("h");
	CHECK(boundports_read(&s) == -EINVAL);
	close_all();
	host_add("h/manifest", "clock\t1\t1\n");
	open_root("h");
	CHECK(boundports_read(&s) == -ENOENT);
	close_all();
}

static uint16_t port_of(int fd)
{
	struct sockaddr_in a;
	socklen_t len = sizeof(a);

	return getsockname(fd, (struct sockaddr *)&a, &len) ? 0 : ntohs(a.sin_port);
}

static int connected(const struct sockaddr_in *to, bool is_bound)
{
	struct sockaddr_in from = { .sin_family = AF_INET, .sin_addr = to->sin_addr };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (is_bound)
		CHECK(!bind(fd, (struct sockaddr *)&from, sizeof(from)));
	CHECK(!connect(fd, (const struct sockaddr *)to, sizeof(*to)));
	return fd;
}

static void test_live(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	struct port_set s;

	CHECK(!bind(listener, (struct sockaddr *)&a, sizeof(a)) && !listen(listener, 8));
	a.sin_port = htons(port_of(listener));
	int bound = connected(&a, true), plain = connected(&a, false);

	CHECK(boundports_read(&s) == 0);
	CHECK(port_set_has(&s, port_of(listener)) && port_set_has(&s, port_of(bound)));
	CHECK(!port_set_has(&s, port_of(plain)));
	/* in TIME_WAIT it still holds its port */
	uint16_t port = port_of(bound), of_plain = port_of(plain);

	close(bound);
	close(plain);
	/* the other ends */
	close(accept(listener, NULL, NULL));
	close(accept(listener, NULL, NULL));
	close(listener);
	src_frame_end();
	CHECK(src_frame_begin() == 1);
	CHECK(boundports_read(&s) == 0 && port_set_has(&s, port) && !port_set_has(&s, of_plain));
}

int main(void)
{
	if (!scratch_begin("boundports"))
		return 1;
	test_replay();
	open_live();
	if (boundports_open())
		check_skip("sockets", fail_text());
	else
		test_live();
	boundports_close();
	close_all();
	scratch_end();
	return check_done("boundports");
}
