/* Any bytes as a plan and as a journal: nothing but settings comes out of a plan. */
#include "common/kernel/journal.h"

#include <assert.h>

#include "common/kernel/plan.h"
#include "common/kernel/setting.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct text t = { (const char *)data, size };
	struct arena a = { 0 };
	struct journal j;
	struct plan p;

	if (plan_parse(&a, t, &p) == 0)
		for (size_t i = 0; i < p.count; i++) {
			const enum setting_kind kind = setting_kind_of(p.steps[i].path);

			assert(kind != SETTING_NONE && !strstr(p.steps[i].path, "/../"));
			assert(setting_is_valid(kind, p.steps[i].new));
		}
	if (journal_parse(&a, t, &j) == 0)
		for (size_t i = 0; i < j.count; i++)
			assert(j.steps[i].path && j.steps[i].old && j.steps[i].new);
	setting_kind_of(arena_text(&a, t));
	arena_free(&a);
	return 0;
}
