#include "common/kernel/module.h"

#include "common/base/scan.h"
#include "common/kernel/source.h"
#include "common/kernel/sysctl.h"

/* Lines like "kernel/net/ipv4/tcp_diag.ko", made when the kernel was built; dashes stay dashes. */
static bool is_built_in(const char *name)
{
	const char *release = src_uname()->release;
	struct text list;

	if (!release || src_readf(&list, "lib/modules/%s/modules.builtin", release) < 0)
		return false;
	const char *file = arena_printf(src_arena(), "/%s.ko\n", name);

	return memmem(list.data, list.len, file, strlen(file)) != NULL;
}

static bool can_load(void)
{
	struct text path;

	/* not there: CONFIG_MODULES=n */
	if (!src_exists("proc/sys/kernel/modprobe") && !src_exists("proc/modules"))
		return false;
	if (sysctl_number("kernel/modules_disabled", 0) == 1)
		return false;
	return src_read("proc/sys/kernel/modprobe", &path) < 0 || !text_is(path, "\n");
}

bool module_would_load(const char *name)
{
	if (src_exists(arena_printf(src_arena(), "sys/module/%s", name)))
		return false;
	return can_load() && !is_built_in(name);
}
