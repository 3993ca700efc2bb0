#include "common/kernel/setting.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/na.h"
#include "common/base/scan.h"
#include "common/kernel/cpumask.h"
#include "common/kernel/source_impl.h"

#define VALUE_MAX 65536                /* a mask of CPU_MAX CPUs has 2,304 bytes */

static int root = -1;
static bool is_live;

/* ---- which paths there are ---- */

/* Takes "NAME/" off, of any NAME that is one; false: it has none. */
static bool take_name(struct scan *s)
{
	struct text name;

	return scan_until(s, '/', &name) && name.len && !text_is(name, ".") &&
		!text_is(name, "..") && name.len < IFNAMSIZ;
}

static bool take_digits(struct scan *s, uint64_t *n)
{
	return s->at < s->end && *s->at >= '0' && *s->at <= '9' && scan_u64(s, n);
}

static bool is_rest(const struct scan *s, const char *text)
{
	return text_is(scan_rest(s), text);
}

static enum setting_kind kind_of_queue(struct scan *s)
{
	uint64_t n;
	const bool is_rx = scan_literal(s, "rx-");

	if ((!is_rx && !scan_literal(s, "tx-")) || !take_digits(s, &n) || !scan_literal(s, "/"))
		return SETTING_NONE;
	if (!is_rx)
		return is_rest(s, "xps_cpus") ? SETTING_XPS : SETTING_NONE;
	return is_rest(s, "rps_cpus") ? SETTING_RPS :
		is_rest(s, "rps_flow_cnt") ? SETTING_NUMBER : SETTING_NONE;
}

static bool is_plain_path(struct text t)
{
	struct scan s = scan_of(t);
	struct text name;

	for (size_t i = 0; i < t.len; i++)
		if (t.data[i] <= ' ' || t.data[i] > '~')
			return false;
	while (scan_until(&s, '/', &name))
		if (!name.len || name.data[0] == '.')
			return false;
	return s.at < s.end && *s.at != '.';
}

enum setting_kind setting_kind_of(const char *path)
{
	struct scan s = scan_of(text_of(path));
	uint64_t n;

	if (scan_literal(&s, "proc/irq/"))
		return !take_digits(&s, &n) ? SETTING_NONE :
			is_rest(&s, "/smp_affinity_list") ? SETTING_IRQ_LIST :
			is_rest(&s, "/smp_affinity") ? SETTING_IRQ_MASK : SETTING_NONE;
	if (scan_literal(&s, "sys/class/net/"))
		return take_name(&s) && scan_literal(&s, "queues/") ? kind_of_queue(&s)
								    : SETTING_NONE;
	if (scan_literal(&s, "ring/"))
		return take_name(&s) && (is_rest(&s, "rx") || is_rest(&s, "tx")) ? SETTING_RING
										 : SETTING_NONE;
	if (scan_literal(&s, "proc/sys/net/"))
		return is_plain_path(scan_rest(&s)) ? SETTING_TEXT : SETTING_NONE;
	return SETTING_NONE;
}

uint64_t setting_irq_of(const char *path)
{
	struct scan s = scan_of(text_of(path));
	uint64_t n;

	return scan_literal(&s, "proc/irq/") && take_digits(&s, &n) ? n : NA_U64;
}

/* ---- values ---- */

static int parse_mask(enum setting_kind kind, const char *value, struct cpumask *m)
{
	return kind == SETTING_IRQ_LIST ? cpumask_parse_list(text_of(value), m)
					: cpumask_parse_hex(text_of(value), m);
}

static bool is_mask(enum setting_kind kind)
{
	return kind == SETTING_IRQ_LIST || kind == SETTING_IRQ_MASK || kind == SETTING_RPS ||
		kind == SETTING_XPS;
}

/* Words apart by any blanks: "4096 131072 6291456" is read back with tabs. */
static bool has_same_words(const char *a, const char *b)
{
	struct scan x = scan_of(text_of(a)), y = scan_of(text_of(b));
	struct text word, other;

	while (scan_word(&x, &word))
		if (!scan_word(&y, &other) || !text_equals(word, other))
			return false;
	return !scan_word(&y, &other);
}

bool setting_is_same(enum setting_kind kind, const char *a, const char *b)
{
	struct cpumask x, y;

	if (!is_mask(kind))
		return has_same_words(a, b);
	return parse_mask(kind, a, &x) >= 0 && parse_mask(kind, b, &y) >= 0 &&
		cpumask_equals(&x, &y);
}

bool setting_is_valid(enum setting_kind kind, const char *value)
{
	struct cpumask m;
	uint64_t n;

	if (strlen(value) > VALUE_MAX || strpbrk(value, "\n\r"))
		return false;
	if (is_mask(kind) && parse_mask(kind, value, &m) < 0)
		return false;
	if (kind == SETTING_IRQ_LIST || kind == SETTING_IRQ_MASK)
		return !cpumask_is_empty(&m);
	if (kind == SETTING_RING || kind == SETTING_NUMBER)
		return scan_all_u64(text_of(value), &n) && n <= UINT32_MAX;
	return is_mask(kind) || kind == SETTING_TEXT;
}

/* ---- the tree ---- */

int setting_open(void)
{
	setting_close();
	int fd = src_tree_open();

	if (fd < 0)
		return fd;
	root = fd;
	is_live = src_is_live();
	return 0;
}

void setting_close(void)
{
	if (root >= 0)
		close(root);
	root = -1;
}

bool setting_is_live(void)
{
	return is_live;
}

/* A copy may hold anything: only regular files in it are touched, and no link leads out of it. */
static int open_file(const char *path, int flags)
{
	struct stat st;

	if (root < 0)
		return fail(EBADF, "/%s: nothing is open", path);
	flags |= O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
	int fd = is_live ? openat(root, path, flags)
			 : src_open_below(root, path, flags, SRC_IN_ROOT);

	if (fd < 0)
		return fail_errno(is_live ? errno : -fd, "/%s", path);
	if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		close(fd);
		return fail(EINVAL, "/%s: not a file", path);
	}
	return fd;
}

/* ---- rings ---- */

static int ring_ioctl(const char *device, size_t n, struct ethtool_ringparam *ring)
{
	struct ifreq request = { .ifr_data = (char *)ring };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return fail_errno(errno, "ethtool: socket");
	memcpy(request.ifr_name, device, n);
	int err = ioctl(fd, SIOCETHTOOL, &request) < 0 ? errno : 0;

	close(fd);
	return err ? fail_errno(err, "ring of %.*s", (int)n, device) : 0;
}

/* "ring/eth0/rx": *at is the one of the two it means. */
static int read_ring(const char *path, struct ethtool_ringparam *ring, uint32_t **at)
{
	const char *device = path + strlen("ring/"), *slash = strchr(device, '/');

	if (!is_live)
		return fail(EOPNOTSUPP, "/%s: a ring is no file: only a live host has one", path);
	*ring = (struct ethtool_ringparam){ .cmd = ETHTOOL_GRINGPARAM };
	*at = slash[1] == 'r' ? &ring->rx_pending : &ring->tx_pending;
	return ring_ioctl(device, (size_t)(slash - device), ring);
}

static int write_ring(const char *path, const char *value)
{
	const char *device = path + strlen("ring/");
	struct ethtool_ringparam ring;
	uint32_t *at;
	uint64_t n;
	int err = read_ring(path, &ring, &at);

	if (err < 0)
		return err;
	if (!scan_all_u64(text_of(value), &n) || n > UINT32_MAX)
		return fail(EINVAL, "%s: '%s' is no number", path, value);
	*at = (uint32_t)n;
	ring.cmd = ETHTOOL_SRINGPARAM;
	return ring_ioctl(device, strcspn(device, "/"), &ring);
}

/* ---- reading and writing ---- */

int setting_read(struct arena *arena, const char *path, const char **value)
{
	const enum setting_kind kind = setting_kind_of(path);
	struct buf b = { 0 };

	if (kind == SETTING_NONE)
		return fail(EINVAL, "/%s: not a setting that is written here", path);
	if (kind == SETTING_RING) {
		struct ethtool_ringparam ring;
		uint32_t *at;
		int err = read_ring(path, &ring, &at);

		if (err >= 0)
			*value = arena_printf(arena, "%u", *at);
		return err;
	}
	int fd = open_file(path, O_RDONLY);

	if (fd < 0)
		return fd;
	int err = src_read_fd(fd, &b);

	close(fd);
	while (b.len && strchr(" \t\n", b.data[b.len - 1]))
		b.len--;
	if (!err)
		*value = arena_text(arena, buf_text(&b));
	buf_free(&b);
	return err ? fail_errno(-err, "/%s", path) : 0;
}

int setting_write(const char *path, const char *value, bool *is_refused)
{
	const enum setting_kind kind = setting_kind_of(path);
	struct buf line = { 0 };

	*is_refused = false;
	if (kind == SETTING_NONE || !setting_is_valid(kind, value))
		return fail(EINVAL, "/%s: '%s' is not written there", path, value);
	if (kind == SETTING_RING) {
		int err = write_ring(path, value);

		*is_refused = err < 0;
		return err;
	}
	int fd = open_file(path, O_WRONLY);

	if (fd < 0)
		return fd;
	buf_printf(&line, "%s\n", value);
	ssize_t written = !is_live && ftruncate(fd, 0) ? -1 : write(fd, line.data, line.len);
	int err = written < 0 ? errno : (size_t)written != line.len ? EIO : 0;

	buf_free(&line);
	close(fd);
	*is_refused = err != 0;
	return err ? fail_errno(err, "/%s", path) : 0;
}
