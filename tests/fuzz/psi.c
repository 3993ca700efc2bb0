/* A pressure file of anybody's making. */
#include "common/kernel/psi.h"

#include <stddef.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct psi p = { 1, 1 };

	if (psi_parse((struct text){ (const char *)data, size }, &p)) {
		if (p.some_ns != 1 || p.full_ns != 1)
			abort();               /* untouched on failure */
	} else if (p.some_ns == NA_U64 && p.full_ns == NA_U64) {
		abort();
	}
	return 0;
}
