/* Any bytes as a message of inet_diag and as proc/net/tcp, tcp6 and udp. */
#include "common/kernel/sockdiag.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct arena arena;
static uint64_t handed_over;

static void check(const struct sock *s, void *arg)
{
	(void)arg;
	handed_over++;
	if ((s->family != AF_INET && s->family != AF_INET6) || !s->state ||
	    s->state >= SOCK_STATES || s->v6only < -1 || s->v6only > 1 || s->shutdown < -1 ||
	    s->shutdown > 3)
		abort();
	if (!sock_end_text(&arena, s->family, &s->local) ||
	    !sock_end_text(&arena, s->family, &s->remote))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct text t = { (const char *)data, size };
	static const struct sockdiag_query queries[] = {
		{ .protocol = IPPROTO_TCP, .states = ~0u },
		{ .protocol = IPPROTO_UDP, .states = SOCK_BIT(SOCK_CLOSE), .local_port = 5353 },
	};
	struct sock s;

	if (!sockdiag_parse(t, &s)) {
		check(&s, NULL);
		if (s.info.len &&
		    (s.info.data < t.data || s.info.data + s.info.len > t.data + size))
			abort();
	}
	for (int i = 0; i < 4; i++) {
		struct sockdiag_result r = { 0 };

		handed_over = 0;
		sockdiag_parse_file(t, &queries[i / 2], i % 2 ? AF_INET6 : AF_INET, check, NULL,
				    &r);
		if (r.seen != handed_over || r.seen > size)
			abort();
	}
	arena_reset(&arena);
	return 0;
}
