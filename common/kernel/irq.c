#include "common/kernel/irq.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/base/scan.h"
#include "common/kernel/source.h"

#define IRQ_NAME_MAX 128
#define WRITABLE 0222

/* ---- one line ---- */

static int read_mask(struct arena *a, uint32_t number, const char *name, struct cpumask *m)
{
	struct text t;
	const char *path = arena_printf(a, "proc/irq/%u/%s_list", number, name);
	int err = src_read(path, &t);

	if (err >= 0)
		return cpumask_parse_list(t, m) < 0 ? fail(EINVAL, "/%s: no list", path) : 0;
	if (err != -ENOENT)
		return err;
	path = arena_printf(a, "proc/irq/%u/%s", number, name);
	err = src_read(path, &t);
	if (err < 0)
		return err;
	return cpumask_parse_hex(t, m) < 0 ? fail(EINVAL, "/%s: no mask", path) : 0;
}

static int fetch_mode(void *arg, struct buf *reply)
{
	struct stat st;

	if (stat(arg, &st))
		return fail_errno(errno, "%s", (const char *)arg);
	buf_printf(reply, "%o", (unsigned)st.st_mode & 07777);
	return 0;
}

static enum irq_managed read_managed(struct arena *a, uint32_t number)
{
	char *path = arena_printf(a, "/proc/irq/%u/smp_affinity", number);
	struct text t;
	unsigned mode = 0;

	if (src_call(arena_printf(a, "mode %s", path + 1), fetch_mode, path, &t) < 0 || !t.len)
		return IRQ_MANAGED_UNKNOWN;
	for (size_t i = 0; i < t.len; i++) {
		if (t.data[i] < '0' || t.data[i] > '7')
			return IRQ_MANAGED_UNKNOWN;
		mode = mode << 3 | (unsigned)(t.data[i] - '0');
	}
	return mode & WRITABLE ? IRQ_MANAGED_UNKNOWN : IRQ_MANAGED;
}

int irq_read(struct arena *arena, uint32_t number, struct irq *irq)
{
	struct irq new = { .number = number, .node = NA_U64 };
	struct cpumask hint;
	struct text t;
	int err = read_mask(arena, number, "smp_affinity", &new.asked);

	if (err < 0)
		return err;
	new.has_asked = true;
	new.has_effective = read_mask(arena, number, "effective_affinity", &new.effective) >= 0;
	new.managed = read_managed(arena, number);
	if (src_readf(&t, "proc/irq/%u/affinity_hint", number) >= 0 &&
	    cpumask_parse_hex(t, &hint) >= 0 && !cpumask_is_empty(&hint))
		new.hint = cpumask_list_text(arena, &hint);
	if (src_readf(&t, "proc/irq/%u/node", number) >= 0) {
		struct scan s = scan_of(t);

		if (!scan_u64(&s, &new.node))
			new.node = NA_U64;
	}
	*irq = new;
	return 0;
}

/* ---- a device's ---- */

const char *irq_device_path(struct arena *arena, const char *interface)
{
	const char *target;
	const char *link = arena_printf(arena, "sys/class/net/%s", interface);

	/* "../../devices/pci0000:00/0000:00:03.0/virtio2/net/eth0" */
	if (strchr(interface, '/') || src_link(link, &target) < 0)
		return NULL;
	while (!strncmp(target, "../", 3))
		target += 3;
	const char *end = strstr(target, "/net/");

	if (!end || strncmp(target, "devices/", 8) != 0 ||
	    !strncmp(target, "devices/virtual/", 16) || strstr(target, ".."))
		return NULL;
	return arena_printf(arena, "sys/%.*s", (int)(end - target), target);
}

static int list_folder(struct arena *arena, const char *path, uint32_t **list, size_t *count)
{
	struct src_names names;
	int err = src_list(path, &names);

	if (err < 0)
		return err;
	uint32_t *new = arena_alloc(arena, (names.count + 1) * sizeof(*new));
	size_t n = 0;

	for (size_t i = 0; i < names.count; i++) {
		uint64_t number;

		if (scan_all_u64(text_of(names.items[i]), &number) && number <= UINT32_MAX)
			new[n++] = (uint32_t)number;
	}
	if (!n)
		return fail(ENOENT, "/%s: empty", path);
	*list = new;
	*count = n;
	return 0;
}

int irq_list(struct arena *arena, const char *path, uint32_t **list, size_t *count)
{
	const char *slash = strrchr(path, '/');
	const char *folder = path;
	struct text t;
	uint64_t number;

	if (slash && !strncmp(slash, "/virtio", 7))
		folder = arena_printf(arena, "%.*s", (int)(slash - path), path);
	if (list_folder(arena, arena_printf(arena, "%s/msi_irqs", folder), list, count) >= 0)
		return 0;
	if (src_read(arena_printf(arena, "%s/irq", folder), &t) < 0 ||
	    !scan_u64(&(struct scan){ t.data, t.data + t.len }, &number) || !number ||
	    number > UINT32_MAX)
		return fail(ENOENT, "/%s: no interrupt is listed", folder);
	*list = arena_alloc(arena, sizeof(**list));
	**list = (uint32_t)number;
	*count = 1;
	return 0;
}

/* ---- names ---- */

static bool has_any(const char *stem, const char *const *words)
{
	for (; *words; words++)
		if (strstr(stem, *words))
			return true;
	return false;
}

/* In lower case, up to the "@pci:0000:3b:00.0" of mlx5, ena and others; its last number cut off. */
static bool split_name(const char *name, char stem[IRQ_NAME_MAX], uint64_t *number)
{
	size_t n = strcspn(name, "@");

	if (!n || n >= IRQ_NAME_MAX)
		return false;
	for (size_t i = 0; i < n; i++)
		stem[i] = name[i] >= 'A' && name[i] <= 'Z' ? (char)(name[i] + 32) : name[i];
	size_t end = n;

	while (end && stem[end - 1] >= '0' && stem[end - 1] <= '9')
		end--;
	stem[end] = '\0';
	return scan_all_u64((struct text){ name + end, n - end }, number);
}

void irq_parse_name(const char *name, struct irq_name *n)
{
	static const char *const both[] = { "txrx", "rxtx", "tx-rx", "rx-tx", "comp", "fp",
					    "ntfy-blk", "queue", "mlx4", NULL };
	char stem[IRQ_NAME_MAX];
	uint64_t queue;

	*n = (struct irq_name){ IRQ_OTHER, NA_U64 };
	if (!split_name(name, stem, &queue) || queue == NA_U64)
		return;
	if (has_any(stem, both))
		n->use = IRQ_BOTH;
	else if (strstr(stem, "input") || strstr(stem, "rx"))
		n->use = IRQ_RX;
	else if (strstr(stem, "output") || strstr(stem, "tx"))
		n->use = IRQ_TX;
	if (n->use != IRQ_OTHER)
		n->queue = queue;
}

void irq_split_gve(struct irq_name *n, const char *name, uint64_t blocks)
{
	if (n->use != IRQ_BOTH || !strstr(name, "ntfy-blk") || blocks < 2)
		return;
	const uint64_t half = blocks / 2;

	n->use = n->queue < half ? IRQ_TX : IRQ_RX;
	n->queue -= n->queue < half ? 0 : half;
}

static bool is_name_char(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
		c == '_' || c == '.';
}

bool irq_name_has(struct text name, const char *interface)
{
	const size_t n = strlen(interface);

	for (size_t i = 0; n && i + n <= name.len; i++)
		if (!memcmp(name.data + i, interface, n) &&
		    (i == 0 || !is_name_char(name.data[i - 1])) &&
		    (i + n == name.len || !is_name_char(name.data[i + n])))
			return true;
	return false;
}
