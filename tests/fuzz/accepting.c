/* Any bytes as proc/PID/syscall and wchan. */
#include "common/kernel/accepting.h"

#include <stddef.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const machines[] = { "x86_64", "aarch64", "s390x", NULL };
	const struct text t = { (const char *)data, size };

	for (size_t i = 0; i < sizeof(machines) / sizeof(*machines); i++)
		if (accept_parse_syscall(t, machines[i], 3) >= ACCEPT_STATES)
			abort();
	if (accept_parse_syscall(t, NULL, 3) == ACCEPT_WAITING)
		abort();
	if (accept_parse_wchan(t) >= ACCEPT_STATES)
		abort();
	return 0;
}
