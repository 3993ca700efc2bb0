#include "common/kernel/ethtool.h"

#include <errno.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/fail.h"
#include "common/base/scan.h"
#include "common/kernel/source.h"

#define BITS_PER_MEGABIT 1000000u

/* Any socket will do for a device ioctl (net/socket.c); this kind is there without IPv4. */
static int open_socket(void)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	return fd < 0 ? fail_errno(errno, "ethtool: socket") : fd;
}

static int ask(int fd, const char *device, void *command)
{
	struct ifreq request = { .ifr_data = command };
	size_t n = strlen(device);

	if (n >= sizeof(request.ifr_name))
		return fail(ENODEV, "ethtool %.32s: no device has so long a name", device);
	memcpy(request.ifr_name, device, n);
	if (ioctl(fd, SIOCETHTOOL, &request) < 0)
		return fail_errno(errno, "ethtool %s", device);
	return 0;
}

static void add_line(struct buf *reply, const char *name, const char *value, size_t size)
{
	size_t n = strnlen(value, size);

	if (!n || memchr(value, '\n', n))
		return;
	buf_add_text(reply, name);
	buf_add_char(reply, ' ');
	buf_add(reply, value, n);
	buf_add_char(reply, '\n');
}

static int fetch_driver(void *arg, struct buf *reply)
{
	struct ethtool_drvinfo info = { .cmd = ETHTOOL_GDRVINFO };
	int fd = open_socket();

	if (fd < 0)
		return fd;
	int err = ask(fd, arg, &info);

	close(fd);
	if (err)
		return err;
	add_line(reply, "driver", info.driver, sizeof(info.driver));
	add_line(reply, "version", info.version, sizeof(info.version));
	add_line(reply, "firmware", info.fw_version, sizeof(info.fw_version));
	add_line(reply, "bus", info.bus_info, sizeof(info.bus_info));
	return 0;
}

/* The old one-value commands: every kernel still answers them, whatever its feature names are. */
static const struct offload {
	const char *name;
	uint32_t command, bit;         /* bit 0: any value but 0 is on */
	size_t offset;
} offloads[] = {
	{ "rx_checksum", ETHTOOL_GRXCSUM, 0, offsetof(struct ethtool_offloads, rx_checksum) },
	{ "tx_checksum", ETHTOOL_GTXCSUM, 0, offsetof(struct ethtool_offloads, tx_checksum) },
	{ "tso", ETHTOOL_GTSO, 0, offsetof(struct ethtool_offloads, tso) },
	{ "gso", ETHTOOL_GGSO, 0, offsetof(struct ethtool_offloads, gso) },
	{ "gro", ETHTOOL_GGRO, 0, offsetof(struct ethtool_offloads, gro) },
	{ "lro", ETHTOOL_GFLAGS, ETH_FLAG_LRO, offsetof(struct ethtool_offloads, lro) },
};

#define OFFLOADS (sizeof(offloads) / sizeof(*offloads))

static int fetch_offloads(void *arg, struct buf *reply)
{
	int fd = open_socket(), err = 0;

	if (fd < 0)
		return fd;
	for (size_t i = 0; i < OFFLOADS; i++) {
		struct ethtool_value value = { .cmd = offloads[i].command };
		int now = ask(fd, arg, &value);

		if (now) {
			err = now;
			continue;
		}
		bool is_on = offloads[i].bit ? value.data & offloads[i].bit : value.data;

		buf_printf(reply, "%s %d\n", offloads[i].name, is_on);
	}
	close(fd);
	return reply->len ? 0 : err;
}

/* The old command, which the kernel answers out of the new one's struct. */
static int fetch_link(void *arg, struct buf *reply)
{
	struct ethtool_cmd command = { .cmd = ETHTOOL_GSET };
	int fd = open_socket();

	if (fd < 0)
		return fd;
	int err = ask(fd, arg, &command);

	close(fd);
	if (!err)
		buf_printf(reply, "speed %u\nduplex %u\n", ethtool_cmd_speed(&command),
			   command.duplex);
	return err;
}

int ethtool_parse_driver(struct arena *arena, struct text t, struct ethtool_driver *d)
{
	struct ethtool_driver new = { 0 };
	const struct {
		const char *name, **value;
	} lines[] = {
		{ "driver", &new.driver }, { "version", &new.version },
		{ "firmware", &new.firmware }, { "bus", &new.bus },
	};
	struct text value;
	unsigned known = 0;

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		if (scan_find_key(t, lines[i].name, &value) && value.len) {
			*lines[i].value = arena_text(arena, value);
			known++;
		}
	if (!known)
		return fail(EINVAL, "ethtool: no known line");
	*d = new;
	return 0;
}

int ethtool_parse_offloads(struct text t, struct ethtool_offloads *o)
{
	struct ethtool_offloads new;
	unsigned known = 0;

	for (size_t i = 0; i < OFFLOADS; i++) {
		int *state = (int *)((char *)&new + offloads[i].offset);
		uint64_t n;

		*state = -1;
		if (scan_key_u64(t, offloads[i].name, &n) && n <= 1)
			*state = (int)n, known++;
	}
	if (!known)
		return fail(EINVAL, "ethtool: no known line");
	*o = new;
	return 0;
}

int ethtool_parse_link(struct text t, struct ethtool_link *l)
{
	uint64_t speed = NA_U64, duplex = NA_U64;
	const bool has_speed = scan_key_u64(t, "speed", &speed);

	if (!scan_key_u64(t, "duplex", &duplex) && !has_speed)
		return fail(EINVAL, "ethtool: no known line");
	/* what is above is SPEED_UNKNOWN */
	l->bits_per_second = speed && speed <= INT32_MAX ? speed * BITS_PER_MEGABIT : NA_U64;
	l->is_full_duplex = duplex == DUPLEX_FULL ? 1 : duplex == DUPLEX_HALF ? 0 : -1;
	return 0;
}

static int call(const char *what, const char *device, int (*fetch)(void *arg, struct buf *reply),
		struct text *reply)
{
	/* fetch only reads it */
	return src_call(arena_printf(src_arena(), "ethtool %s %s", what, device), fetch,
			arena_strdup(src_arena(), device), reply);
}

int ethtool_read_driver(const char *device, struct ethtool_driver *d)
{
	struct text reply;
	int err = call("driver", device, fetch_driver, &reply);

	return err < 0 ? err : ethtool_parse_driver(src_arena(), reply, d);
}

int ethtool_read_offloads(const char *device, struct ethtool_offloads *o)
{
	struct text reply;
	int err = call("offloads", device, fetch_offloads, &reply);

	return err < 0 ? err : ethtool_parse_offloads(reply, o);
}

int ethtool_read_link(const char *device, struct ethtool_link *l)
{
	struct text reply;
	int err = call("link", device, fetch_link, &reply);

	return err < 0 ? err : ethtool_parse_link(reply, l);
}
