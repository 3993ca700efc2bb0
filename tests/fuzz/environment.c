/* A record of anybody's making: what can be read is the same once written and read again. */
#include "common/kernel/environment.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/kernel/ethtool.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct arena arena;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct text t = { (const char *)data, size };
	struct environment e, again;
	struct ethtool_driver driver;
	struct ethtool_offloads offloads;
	struct buf b = { 0 };

	if (!environment_parse(&arena, t, &e)) {
		environment_write(&e, &b);
		if (environment_parse(&arena, buf_text(&b), &again) || again.count != e.count)
			abort();
		for (size_t i = 0; i < e.count; i++)
			if (strcmp(e.items[i].key, again.items[i].key) != 0 ||
			    strcmp(e.items[i].value, again.items[i].value) != 0)
				abort();
	}
	ethtool_parse_driver(&arena, t, &driver);
	if (!ethtool_parse_offloads(t, &offloads) && (offloads.tso < -1 || offloads.tso > 1))
		abort();
	buf_free(&b);
	arena_reset(&arena);
	return 0;
}
