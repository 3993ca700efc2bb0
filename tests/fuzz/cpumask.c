/* Any bytes as a list or a mask of CPUs: what is understood goes there and back. */
#include "common/kernel/cpumask.h"

#include <assert.h>
#include <stddef.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct cpumask *m)
{
	struct buf list = { 0 }, hex = { 0 };
	struct cpumask back;

	cpumask_add_list(&list, m);
	cpumask_add_hex(&hex, m, 448);
	assert(cpumask_parse_list(buf_text(&list), &back) == 0 && cpumask_equals(m, &back));
	assert(cpumask_parse_hex(buf_text(&hex), &back) == 0 && cpumask_equals(m, &back));
	buf_free(&list);
	buf_free(&hex);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct text t = { (const char *)data, size };
	struct cpumask m;

	if (cpumask_parse_list(t, &m) == 0)
		check(&m);
	if (cpumask_parse_hex(t, &m) == 0)
		check(&m);
	return 0;
}
