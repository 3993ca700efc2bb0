#include "common/kernel/edac.h"

#include "common/base/scan.h"
#include "common/kernel/source.h"
#include "common/kernel/sysctl.h"

#define FOLDER "sys/devices/system/edac/mc"
#define CONTROLLERS_MAX 256

/* Adds what the file says; one that can't be read makes the sum unknown. */
static void add_count(const char *controller, const char *which, uint64_t *sum)
{
	struct text t;
	uint64_t n = NA_U64;

	if (src_readf(&t, FOLDER "/%s/%s_count", controller, which) >= 0)
		n = sysctl_parse_number(t, 0);
	if (n == NA_U64 || *sum == NA_U64 || __builtin_add_overflow(*sum, n, sum))
		*sum = NA_U64;
}

void edac_read(struct edac *e)
{
	struct src_names names;

	*e = (struct edac){ 0, 0, 0 };
	if (src_list(FOLDER, &names) >= 0)
		for (size_t i = 0; i < names.count && e->controllers < CONTROLLERS_MAX; i++) {
			struct scan s = scan_of(text_of(names.items[i]));
			uint64_t number;

			if (!scan_literal(&s, "mc") || !scan_u64(&s, &number) || s.at != s.end)
				continue;
			e->controllers++;
			add_count(names.items[i], "ce", &e->corrected);
			add_count(names.items[i], "ue", &e->uncorrected);
		}
	if (!e->controllers)
		e->corrected = e->uncorrected = NA_U64;
}
