#include "common/kernel/dropreason.h"

#include <stdbool.h>
#include <string.h>

#include "common/base/hash.h"
#include "common/base/mem.h"
#include "common/kernel/bpf.h"

#define SUBSYSTEM_SHIFT 16             /* SKB_DROP_REASON_SUBSYS_SHIFT */
#define SUBSYSTEM_PREFIX "SKB_DROP_REASON_SUBSYS_"
#define MASK_NAME "SKB_DROP_REASON_SUBSYS_MASK"

static struct arena arena;
static struct hash reasons, subsystems;        /* names by number */
static bool is_read;

const char *dropreason_short(const char *enumerator)
{
	static const char *const prefixes[] = { "SKB_DROP_REASON_", "SKB_" };

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++)
		if (!strncmp(enumerator, prefixes[i], strlen(prefixes[i])))
			return enumerator + strlen(prefixes[i]);
	return enumerator;
}

static void add_reason(void *arg, const char *name, uint64_t value)
{
	void **slot = hash_number(&reasons, value);

	(void)arg;
	if (!*slot && strcmp(name, MASK_NAME) != 0)
		*slot = arena_strdup(&arena, dropreason_short(name));
}

/* SKB_DROP_REASON_SUBSYS_MAC80211_UNUSABLE: the module is what stands before the underscore. */
static void add_subsystem(void *arg, const char *name, uint64_t value)
{
	const size_t prefix = strlen(SUBSYSTEM_PREFIX);

	(void)arg;
	if (strncmp(name, SUBSYSTEM_PREFIX, prefix) != 0 || !value)
		return;
	char *module = arena_strdup(&arena, name + prefix);

	for (char *c = module; *c; c++) {
		if (*c == '_')
			*c = '\0';
		else if (*c >= 'A' && *c <= 'Z')
			*c = (char)(*c - 'A' + 'a');
		if (!*c)
			break;
	}
	*hash_number(&subsystems, value) = module;
	bpf_each_enumerator(module, "_drop_reason", add_reason, NULL);
}

static void read_all(void)
{
	bpf_each_enumerator(NULL, "_drop_reason", add_reason, NULL);
	bpf_each_enumerator(NULL, "skb_drop_reason_subsys", add_subsystem, NULL);
	is_read = true;
}

const char *dropreason_name(uint32_t reason)
{
	if (!is_read)
		read_all();
	const char *name = hash_find_number(&reasons, reason);

	if (name)
		return name;
	const uint32_t subsystem = reason >> SUBSYSTEM_SHIFT;
	const char *module = hash_find_number(&subsystems, subsystem);

	if (module)
		name = arena_printf(&arena, "%s:%u", module, reason & 0xffff);
	else if (subsystem)
		name = arena_printf(&arena, "#%u:%u", subsystem, reason & 0xffff);
	else
		name = arena_printf(&arena, "#%u", reason);
	*hash_number(&reasons, reason) = (void *)name;
	return name;
}

void dropreason_forget(void)
{
	hash_free(&reasons);
	hash_free(&subsystems);
	arena_free(&arena);
	is_read = false;
}
