#include "common/kernel/ethtool_stats.h"

#include <errno.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/fail.h"
#include "common/base/scan.h"
#include "common/kernel/source.h"

#define STATS_MAX 65536                /* drivers with a hundred queues have some thousands */
/* The kernel writes as many as there are by then: a queue may have been added. */
#define SLACK 4096

/* ---- what a name says ---- */

static bool has(const char *name, const char *const *patterns)
{
	for (; *patterns; patterns++)
		if (strcasestr(name, *patterns))
			return true;
	return false;
}

/* "tx" as a word of its own: "vport_tx_drops", "tx0_drops", "queue_0_tx_x", not "ctx". */
static bool has_word(const char *name, const char *word)
{
	const size_t n = strlen(word);

	for (const char *at = name; (at = strcasestr(at, word)); at += n) {
		const char before = at == name ? '_' : at[-1], after = at[n];
		const bool begins = !((before | 32) >= 'a' && (before | 32) <= 'z');
		const bool ends = !((after | 32) >= 'a' && (after | 32) <= 'z');

		if (begins && (ends || after == 'q'))
			return true;
	}
	return false;
}

static enum ethtool_class classify_xdp(const char *name)
{
	static const char *const errors[] = { "exception", "err", "abort", "invalid", "fail",
					      "full", NULL };

	if (strcasestr(name, "xdp_drop"))
		return ETHTOOL_XDP_DROP;
	return has(name, errors) ? ETHTOOL_XDP_ERROR : ETHTOOL_OTHER;
}

enum ethtool_class ethtool_classify(const char *name)
{
	/* These tell of waiting, retrying, or what was not for this host. */
	static const char *const harmless[] = { "no_buffer_count", "filter", "unsupp", "nohandler",
						"unknown_proto", "vlan", "wake", "stopped",
						"restart", "csum", "pause", "prio", "available",
						NULL };
	static const char *const damaged[] = { "crc", "fcs", "frame_err", "align", "length_err",
					       "symbol_err", "jabber", "undersize", "late_coll",
					       "code_err", "phy_err", "runt", NULL };
	static const char *const lost[] = { "drop", "discard", "out_of_buffer", "no_buffer",
					    "no_buf", "nobuf", "missed_err", "no_dma", "no_desc",
					    "fifo_err", "over_err", "overrun", "overflow",
					    "no_space", "no_memory", "pkts rx oob", "underrun",
					    NULL };

	if (strcasestr(name, "allowance_exceeded"))
		return ETHTOOL_CLOUD;
	if (strcasestr(name, "xdp"))
		return classify_xdp(name);
	if (has(name, harmless))
		return ETHTOOL_OTHER;
	if (has(name, damaged))
		return ETHTOOL_LINK_ERROR;
	if (!has(name, lost))
		return ETHTOOL_OTHER;
	return has_word(name, "tx") ? ETHTOOL_RING_TX : ETHTOOL_RING_RX;
}

const char *ethtool_class_name(enum ethtool_class c)
{
	static const char *const names[ETHTOOL_CLASSES] = {
		[ETHTOOL_OTHER] = "other",           [ETHTOOL_RING_RX] = "rx ring",
		[ETHTOOL_RING_TX] = "tx ring",       [ETHTOOL_LINK_ERROR] = "link error",
		[ETHTOOL_XDP_DROP] = "xdp drop",     [ETHTOOL_XDP_ERROR] = "xdp error",
		[ETHTOOL_CLOUD] = "cloud limit",
	};

	return names[c];
}

/* The first run of digits becomes N. */
static const char *family_of(struct arena *arena, const char *name)
{
	const size_t before = strcspn(name, "0123456789");
	const size_t digits = strspn(name + before, "0123456789");

	return digits ? arena_printf(arena, "%.*sN%s", (int)before, name, name + before + digits) :
		name;
}

/* ---- parsing ---- */

int ethtool_parse_stats(struct arena *arena, struct text t, struct ethtool_stat **stats,
			size_t *count)
{
	struct scan lines = scan_of(t);
	struct text line;
	size_t room = 0, n = 0;

	for (size_t i = 0; i < t.len; i++)
		room += t.data[i] == '\n';
	if (room > STATS_MAX)
		return fail(EFBIG, "ethtool -S: more than %d counters", STATS_MAX);
	struct ethtool_stat *list = arena_alloc(arena, (room + 1) * sizeof(*list));

	while (scan_until(&lines, '\n', &line)) {
		struct scan s = scan_of(line);
		struct ethtool_stat *e = &list[n];

		if (!scan_u64(&s, &e->value) || !scan_literal(&s, " ") || s.at == s.end ||
		    memchr(s.at, '\0', (size_t)(s.end - s.at)))
			return fail(EINVAL, "ethtool -S line %zu: not understood", n + 1);
		e->name = arena_text(arena, scan_rest(&s));
		e->family = family_of(arena, e->name);
		e->class = ethtool_classify(e->name);
		n++;
	}
	if (lines.at != lines.end)
		return fail(EINVAL, "ethtool -S line %zu: cut", n + 1);
	*stats = list;
	*count = n;
	return 0;
}

/* ---- comparing ---- */

static const struct ethtool_stat *find(const struct ethtool_stat *list, size_t count, size_t at,
				       const char *name)
{
	if (at < count && !strcmp(list[at].name, name))        /* mostly in the same order */
		return &list[at];
	for (size_t i = 0; i < count; i++)
		if (!strcmp(list[i].name, name))
			return &list[i];
	return NULL;
}

uint64_t ethtool_class_moved(const struct ethtool_stat *now, size_t count,
			     const struct ethtool_stat *before, size_t before_count,
			     enum ethtool_class class, const char **family)
{
	uint64_t most = NA_U64;

	for (size_t i = 0; i < count; i++) {
		uint64_t sum = NA_U64;
		size_t first = 0;

		if (now[i].class != class)
			continue;
		while (strcmp(now[first].family, now[i].family) != 0)
			first++;
		if (first < i)
			continue;      /* that family was summed */
		for (size_t k = i; k < count; k++) {
			if (now[k].class != class || strcmp(now[k].family, now[i].family) != 0)
				continue;
			const struct ethtool_stat *was =
				find(before, before_count, k, now[k].name);
			uint64_t moved = was ? delta_u64(now[k].value, was->value) : NA_U64;

			if (moved != NA_U64)
				sum = (sum == NA_U64 ? 0 : sum) + moved;
		}
		if (sum != NA_U64 && (most == NA_U64 || sum > most)) {
			most = sum;
			*family = now[i].family;
		}
	}
	return most;
}

/* ---- asking ---- */

static int ask(int fd, const char *device, void *command)
{
	struct ifreq request = { .ifr_data = command };
	const size_t n = strlen(device);

	if (n >= sizeof(request.ifr_name))
		return fail(ENODEV, "ethtool %.32s: no device has so long a name", device);
	memcpy(request.ifr_name, device, n);
	return ioctl(fd, SIOCETHTOOL, &request) < 0 ? fail_errno(errno, "ethtool -S %s", device) : 0;
}

static int ask_count(int fd, const char *device, uint32_t *count)
{
	struct {
		struct ethtool_sset_info info;
		uint32_t data[1];
	} sset = { .info = { .cmd = ETHTOOL_GSSET_INFO, .sset_mask = 1ull << ETH_SS_STATS } };
	int err = ask(fd, device, &sset);

	if (!err)
		*count = sset.info.sset_mask ? sset.data[0] : 0;
	return err;
}

static void add_lines(struct buf *reply, const struct ethtool_gstrings *names,
		      const struct ethtool_stats *values)
{
	for (uint32_t i = 0; i < names->len && i < values->n_stats; i++) {
		const char *name = (const char *)names->data + (size_t)i * ETH_GSTRING_LEN;
		const size_t n = strnlen(name, ETH_GSTRING_LEN);

		if (!n || memchr(name, '\n', n))
			continue;
		buf_printf(reply, "%llu ", (unsigned long long)values->data[i]);
		buf_add(reply, name, n);
		buf_add_char(reply, '\n');
	}
}

static int fetch(void *arg, struct buf *reply)
{
	const char *device = arg;
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	uint32_t count = 0;

	if (fd < 0)
		return fail_errno(errno, "ethtool: socket");
	int err = ask_count(fd, device, &count);

	if (!err && (!count || count > STATS_MAX))
		err = fail(EOPNOTSUPP, "ethtool -S %s: no counters", device);
	if (err) {
		close(fd);
		return err;
	}
	struct ethtool_gstrings *names =
		mem_alloc(sizeof(*names) + ((size_t)count + SLACK) * ETH_GSTRING_LEN);
	struct ethtool_stats *values =
		mem_alloc(sizeof(*values) + ((size_t)count + SLACK) * sizeof(uint64_t));

	names->cmd = ETHTOOL_GSTRINGS;
	names->string_set = ETH_SS_STATS;
	names->len = count;
	values->cmd = ETHTOOL_GSTATS;
	values->n_stats = count;
	err = ask(fd, device, names);
	if (!err)
		err = ask(fd, device, values);
	if (!err)
		add_lines(reply, names, values);
	free(names);
	free(values);
	close(fd);
	return err;
}

int ethtool_read_stats(struct arena *arena, const char *device, struct ethtool_stat **stats,
		       size_t *count)
{
	struct text reply;
	int err = src_call(arena_printf(src_arena(), "ethtool stats %s", device), fetch,
			   arena_strdup(src_arena(), device), &reply);

	return err < 0 ? err : ethtool_parse_stats(arena, reply, stats, count);
}
