#include "common/kernel/ethtool_queues.h"

#include <errno.h>
#include <linux/ethtool.h>
#include <linux/ethtool_netlink.h>
#include <linux/genetlink.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/fail.h"
#include "common/base/scan.h"
#include "common/kernel/netlink.h"
#include "common/kernel/source.h"

#define QUEUES_MAX 65536               /* a queue number of a table beyond is not counted */
#define RSS_ENTRIES_MAX 65536

/* One value: its name in a save, its attribute, where the ioctl's struct has it. */
struct value {
	const char *name;
	uint16_t attribute;
	size_t at;                     /* in struct ethtool_ringparam ... */
	int max;                       /* the value that is its maximum; -1: none */
};

#define RING(field) offsetof(struct ethtool_ringparam, field)
#define CHANNEL(field) offsetof(struct ethtool_channels, field)
#define COALESCE(field) offsetof(struct ethtool_coalesce, field)

static const struct value rings[] = {
	{ "rx", ETHTOOL_A_RINGS_RX, RING(rx_pending), 1 },
	{ "rx_max", ETHTOOL_A_RINGS_RX_MAX, RING(rx_max_pending), -1 },
	{ "tx", ETHTOOL_A_RINGS_TX, RING(tx_pending), 3 },
	{ "tx_max", ETHTOOL_A_RINGS_TX_MAX, RING(tx_max_pending), -1 },
};
static const struct value channels[] = {
	{ "rx", ETHTOOL_A_CHANNELS_RX_COUNT, CHANNEL(rx_count), 1 },
	{ "rx_max", ETHTOOL_A_CHANNELS_RX_MAX, CHANNEL(max_rx), -1 },
	{ "tx", ETHTOOL_A_CHANNELS_TX_COUNT, CHANNEL(tx_count), 3 },
	{ "tx_max", ETHTOOL_A_CHANNELS_TX_MAX, CHANNEL(max_tx), -1 },
	{ "other", ETHTOOL_A_CHANNELS_OTHER_COUNT, CHANNEL(other_count), 5 },
	{ "other_max", ETHTOOL_A_CHANNELS_OTHER_MAX, CHANNEL(max_other), -1 },
	{ "combined", ETHTOOL_A_CHANNELS_COMBINED_COUNT, CHANNEL(combined_count), 7 },
	{ "combined_max", ETHTOOL_A_CHANNELS_COMBINED_MAX, CHANNEL(max_combined), -1 },
};
static const struct value coalesce[] = {
	{ "rx_us", ETHTOOL_A_COALESCE_RX_USECS, COALESCE(rx_coalesce_usecs), -1 },
	{ "rx_frames", ETHTOOL_A_COALESCE_RX_MAX_FRAMES, COALESCE(rx_max_coalesced_frames), -1 },
	{ "tx_us", ETHTOOL_A_COALESCE_TX_USECS, COALESCE(tx_coalesce_usecs), -1 },
	{ "tx_frames", ETHTOOL_A_COALESCE_TX_MAX_FRAMES, COALESCE(tx_max_coalesced_frames), -1 },
	{ "adaptive_rx", ETHTOOL_A_COALESCE_USE_ADAPTIVE_RX, COALESCE(use_adaptive_rx_coalesce),
	  -1 },
};

#define COUNT(array) (sizeof(array) / sizeof(*(array)))
static const struct kind {
	const char *name;
	const struct value *values;
	size_t count;
	uint8_t message;
	uint16_t header;               /* the attribute that names the device: 1 in all of them */
	uint32_t command;              /* of the ioctl */
	size_t size;
} kinds[ETHTOOL_WHATS] = {
	[ETHTOOL_RINGS] = { "rings", rings, COUNT(rings), ETHTOOL_MSG_RINGS_GET,
			    ETHTOOL_A_RINGS_HEADER, ETHTOOL_GRINGPARAM,
			    sizeof(struct ethtool_ringparam) },
	[ETHTOOL_CHANNELS] = { "channels", channels, COUNT(channels), ETHTOOL_MSG_CHANNELS_GET,
			       ETHTOOL_A_CHANNELS_HEADER, ETHTOOL_GCHANNELS,
			       sizeof(struct ethtool_channels) },
	[ETHTOOL_COALESCE] = { "coalesce", coalesce, COUNT(coalesce), ETHTOOL_MSG_COALESCE_GET,
			       ETHTOOL_A_COALESCE_HEADER, ETHTOOL_GCOALESCE,
			       sizeof(struct ethtool_coalesce) },
};

/* ---- parsing ---- */

/* Both the kernel's 0 of a maximum and a value whose maximum is unknown: not to be had. */
static void forget_unavailable(const struct kind *k, uint64_t *values)
{
	for (size_t i = 0; i < k->count; i++) {
		const int max = k->values[i].max;

		if (max < 0)
			continue;
		if (values[max] == 0)
			values[max] = NA_U64;
		if (values[max] == NA_U64)
			values[i] = NA_U64;
	}
}

void ethtool_parse_attrs(enum ethtool_what what, struct text attrs, uint64_t *values)
{
	const struct kind *k = &kinds[what];

	for (size_t i = 0; i < k->count; i++) {
		struct text data;

		values[i] = NA_U64;
		if (netlink_find(attrs, k->values[i].attribute, &data))
			values[i] = data.len == 1 ? netlink_u8(data) : netlink_u32(data);
	}
	forget_unavailable(k, values);
}

int ethtool_parse_lines(enum ethtool_what what, struct text t, uint64_t *values)
{
	const struct kind *k = &kinds[what];
	uint64_t new[ETHTOOL_VALUES_MAX];
	unsigned known = 0;

	for (size_t i = 0; i < k->count; i++) {
		new[i] = NA_U64;
		known += scan_key_u64(t, k->values[i].name, &new[i]);
	}
	if (!known)
		return fail(EINVAL, "ethtool %s: no known line", k->name);
	forget_unavailable(k, new);
	memcpy(values, new, k->count * sizeof(*new));
	return 0;
}

int ethtool_parse_rss(struct text table, struct nic_rss *r)
{
	const size_t entries = table.len / sizeof(uint32_t);
	uint64_t queues = 0;

	if (!entries || table.len % sizeof(uint32_t) || entries > RSS_ENTRIES_MAX)
		return -EINVAL;
	bool *seen = mem_alloc(QUEUES_MAX * sizeof(*seen));

	for (size_t i = 0; i < entries; i++) {
		uint32_t queue;

		memcpy(&queue, table.data + i * sizeof(queue), sizeof(queue));
		if (queue < QUEUES_MAX && !seen[queue])
			seen[queue] = true, queues++;
	}
	free(seen);
	*r = (struct nic_rss){ entries, queues };
	return 0;
}

/* ---- netlink ---- */

static void take_family(const struct netlink_message *m, void *arg)
{
	struct text id;

	if (netlink_find(netlink_behind(m->body, sizeof(struct genlmsghdr)), CTRL_ATTR_FAMILY_ID,
			 &id))
		*(uint64_t *)arg = netlink_u16(id);
}

/* Its number differs from kernel to kernel. */
static int find_family(uint64_t *id)
{
	static const struct genlmsghdr header = { .cmd = CTRL_CMD_GETFAMILY, .version = 1 };
	struct netlink_result result;
	struct buf body = { 0 };

	*id = NA_U64;
	buf_add(&body, &header, sizeof(header));
	netlink_add(&body, CTRL_ATTR_FAMILY_NAME, ETHTOOL_GENL_NAME, sizeof(ETHTOOL_GENL_NAME));
	const struct netlink_request r = { .key = "genetlink family ethtool",
					   .family = NETLINK_GENERIC,
					   .type = GENL_ID_CTRL,
					   .body = buf_text(&body) };
	const struct netlink_reader reader = { .each = take_family, .arg = id };
	int err = netlink_ask(&r, &reader, &result);

	buf_free(&body);
	if (!err && *id == NA_U64)
		return fail(EPROTO, "genetlink: the ethtool family has no number");
	return err;
}

struct answer {
	const struct kind *kind;
	uint64_t *values;
	bool is_there;
};

static void take_answer(const struct netlink_message *m, void *arg)
{
	struct answer *a = arg;
	struct text attrs = netlink_behind(m->body, sizeof(struct genlmsghdr));

	ethtool_parse_attrs((enum ethtool_what)(a->kind - kinds), attrs, a->values);
	a->is_there = true;
}

static int ask_netlink(const struct kind *k, const char *device, struct answer *a)
{
	const struct genlmsghdr header = { .cmd = k->message, .version = ETHTOOL_GENL_VERSION };
	struct netlink_result result;
	struct buf body = { 0 };
	uint64_t family;
	int err = find_family(&family);

	if (err < 0)
		return err;
	buf_add(&body, &header, sizeof(header));
	size_t nest = netlink_add_nest(&body, k->header);

	netlink_add(&body, ETHTOOL_A_HEADER_DEV_NAME, device, strlen(device) + 1);
	netlink_end_nest(&body, nest);
	const struct netlink_request r = {
		.key = arena_printf(src_arena(), "genetlink ethtool %s %s", k->name, device),
		.family = NETLINK_GENERIC,
		.type = (uint16_t)family,
		.body = buf_text(&body)
	};
	const struct netlink_reader reader = { .each = take_answer, .arg = a };

	err = netlink_ask(&r, &reader, &result);
	buf_free(&body);
	if (!err && !a->is_there)
		return fail(EOPNOTSUPP, "ethtool %s %s: no answer", k->name, device);
	return err;
}

/* ---- ioctl ---- */

static int ask_ioctl(const char *device, void *command)
{
	struct ifreq request = { .ifr_data = command };
	const size_t n = strlen(device);

	if (n >= sizeof(request.ifr_name))
		return fail(ENODEV, "ethtool %.32s: no device has so long a name", device);
	memcpy(request.ifr_name, device, n);
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return fail_errno(errno, "ethtool: socket");
	int err = ioctl(fd, SIOCETHTOOL, &request) < 0 ? fail_errno(errno, "ethtool %s", device)
						       : 0;

	close(fd);
	return err;
}

struct asked {
	const struct kind *kind;
	const char *device;
};

static int fetch_values(void *arg, struct buf *reply)
{
	const struct asked *a = arg;
	union {
		uint32_t command;
		char bytes[128];
	} request = { .command = a->kind->command };

	_Static_assert(sizeof(struct ethtool_coalesce) <= sizeof(request), "room");
	int err = ask_ioctl(a->device, &request);

	for (size_t i = 0; !err && i < a->kind->count; i++) {
		uint32_t value;

		memcpy(&value, request.bytes + a->kind->values[i].at, sizeof(value));
		buf_printf(reply, "%s %u\n", a->kind->values[i].name, value);
	}
	return err;
}

static int fetch_rss(void *arg, struct buf *reply)
{
	const char *device = arg;
	struct ethtool_rxfh_indir ask = { .cmd = ETHTOOL_GRXFHINDIR };
	int err = ask_ioctl(device, &ask);

	if (err)
		return err;
	if (!ask.size || ask.size > RSS_ENTRIES_MAX)
		return fail(EOPNOTSUPP, "ethtool %s: no RSS table", device);
	struct ethtool_rxfh_indir *table = mem_alloc(sizeof(*table) + ask.size * sizeof(uint32_t));

	table->cmd = ETHTOOL_GRXFHINDIR;
	table->size = ask.size;
	err = ask_ioctl(device, table);
	if (!err)
		buf_add(reply, table->ring_index, ask.size * sizeof(uint32_t));
	free(table);
	return err;
}

/* ---- one after the other ---- */

static int read_values(enum ethtool_what what, const char *device, uint64_t *values)
{
	const struct kind *k = &kinds[what];
	struct answer answer = { .kind = k, .values = values };
	struct asked asked = { k, arena_strdup(src_arena(), device) };
	struct text reply;
	int err = ask_netlink(k, device, &answer);

	if (err >= 0)
		return err;
	err = src_call(arena_printf(src_arena(), "ethtool %s %s", k->name, device), fetch_values,
		       &asked, &reply);
	return err < 0 ? err : ethtool_parse_lines(what, reply, values);
}

int ethtool_read_rings(const char *device, struct nic_rings *r)
{
	uint64_t v[ETHTOOL_VALUES_MAX];
	int err = read_values(ETHTOOL_RINGS, device, v);

	if (err >= 0)
		*r = (struct nic_rings){ v[0], v[1], v[2], v[3] };
	return err;
}

int ethtool_read_channels(const char *device, struct nic_channels *c)
{
	uint64_t v[ETHTOOL_VALUES_MAX];
	int err = read_values(ETHTOOL_CHANNELS, device, v);

	if (err >= 0)
		*c = (struct nic_channels){ v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7] };
	return err;
}

int ethtool_read_coalesce(const char *device, struct nic_coalesce *c)
{
	uint64_t v[ETHTOOL_VALUES_MAX];
	int err = read_values(ETHTOOL_COALESCE, device, v);

	if (err >= 0)
		*c = (struct nic_coalesce){ v[0], v[1], v[2], v[3], v[4] };
	return err;
}

int ethtool_read_rss(const char *device, struct nic_rss *r)
{
	struct text reply;
	int err = src_call(arena_printf(src_arena(), "ethtool rss %s", device), fetch_rss,
			   arena_strdup(src_arena(), device), &reply);

	if (err >= 0 && ethtool_parse_rss(reply, r) < 0)
		return fail(EINVAL, "ethtool rss %s: not understood", device);
	return err;
}
