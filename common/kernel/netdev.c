#include "common/kernel/netdev.h"

#include "common/base/scan.h"
#include "common/kernel/source.h"
#include "common/kernel/sysctl.h"

#define BITS_PER_MEGABIT 1000000u

bool netdev_is_hardware(const char *name)
{
	return *name && !strchr(name, '/') &&
		src_exists(arena_printf(src_arena(), "sys/class/net/%s/device", name));
}

uint64_t netdev_parse_speed(struct text t)
{
	uint64_t megabits = sysctl_parse_number(t, 0);

	/* what is above is SPEED_UNKNOWN or nonsense, include/uapi/linux/ethtool.h */
	return megabits > 0 && megabits <= INT32_MAX ? megabits * BITS_PER_MEGABIT : NA_U64;
}

uint64_t netdev_read_speed(const char *name)
{
	struct text t;

	if (!*name || strchr(name, '/') || src_readf(&t, "sys/class/net/%s/speed", name) < 0)
		return NA_U64;
	return netdev_parse_speed(t);
}
