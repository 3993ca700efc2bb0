/* Any bytes as a message of unix_diag and as proc/net/unix. */
#include "common/kernel/sockdiag.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t handed_over;

static void check(const struct unix_sock *s, void *arg)
{
	(void)arg;
	handed_over++;
	if (!s->state || s->state >= SOCK_STATES)
		abort();
	if (s->name && strlen(s->name) >= SOCKDIAG_NAME)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct text t = { (const char *)data, size };
	struct sockdiag_result r = { 0 };
	char name[SOCKDIAG_NAME];
	struct unix_sock s;

	if (!sockdiag_parse_unix(t, &s, name))
		check(&s, NULL);
	handed_over = 0;
	sockdiag_parse_unix_file(t, ~0u, check, NULL, &r);
	if (r.seen != handed_over || r.seen > size)
		abort();
	return 0;
}
