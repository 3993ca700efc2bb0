#include "common/kernel/netcount.h"

#include <errno.h>

#include "common/base/fail.h"
#include "common/base/scan.h"

static bool take_group(struct scan *line, const char *group)
{
	return scan_literal(line, group) && scan_literal(line, ":");
}

/* Column NAME of a line of names and the line of values below it. */
static uint64_t find_column(struct scan names, struct scan values, const char *name)
{
	struct text word, value;
	uint64_t n;

	while (scan_word(&names, &word) && scan_word(&values, &value))
		if (text_is(word, name))
			return scan_all_u64(value, &n) ? n : NA_U64;    /* MaxConn may be -1 */
	return NA_U64;
}

static uint64_t find_line(struct text t, const char *name)
{
	struct scan lines = scan_of(t);
	struct text line, word;
	uint64_t n;

	while (scan_until(&lines, '\n', &line)) {
		struct scan s = scan_of(line);

		if (scan_word(&s, &word) && text_is(word, name))
			return scan_word(&s, &word) && scan_all_u64(word, &n) ? n : NA_U64;
	}
	return NA_U64;
}

uint64_t netcount_find(struct text t, const char *group, const char *name)
{
	struct scan lines = scan_of(t);
	struct text line, below;

	if (!group)
		return find_line(t, name);
	/* scan_until, not scan_line: a line without its newline may be cut */
	while (scan_until(&lines, '\n', &line)) {
		struct scan names = scan_of(line);

		if (!take_group(&names, group))
			continue;
		if (!scan_until(&lines, '\n', &below))
			return NA_U64;
		struct scan values = scan_of(below);

		if (!take_group(&values, group))
			return NA_U64;
		uint64_t n = find_column(names, values, name);

		if (n != NA_U64)
			return n;
	}
	return NA_U64;
}

/* "  eth0: 1 2 ..." or, before 2.6.38, "  eth0:1 2 ...": the last colon ends the name. */
static bool parse_device(struct arena *arena, struct text line, struct net_device *d)
{
	enum { RX_BYTES, RX_PACKETS, RX_ERRORS, RX_DROPPED, RX_FIFO,
	       TX_BYTES = 8, TX_PACKETS, TX_ERRORS, TX_DROPPED, TX_FIFO, COLUMNS };
	uint64_t column[COLUMNS];
	const char *colon = line.len ? memrchr(line.data, ':', line.len) : NULL;

	if (!colon)
		return false;
	struct scan name = { line.data, colon }, s = { colon + 1, line.data + line.len };

	scan_blanks(&name);
	if (name.at == name.end || memchr(name.at, '\0', (size_t)(name.end - name.at)))
		return false;
	for (int i = 0; i < COLUMNS; i++)
		column[i] = NA_U64;
	for (int i = 0; i < COLUMNS && scan_u64(&s, &column[i]); i++)
		;
	*d = (struct net_device){
		.name = arena_text(arena, scan_rest(&name)),
		.rx_bytes = column[RX_BYTES], .rx_packets = column[RX_PACKETS],
		.rx_errors = column[RX_ERRORS], .rx_dropped = column[RX_DROPPED],
		.rx_fifo = column[RX_FIFO],
		.tx_bytes = column[TX_BYTES], .tx_packets = column[TX_PACKETS],
		.tx_errors = column[TX_ERRORS], .tx_dropped = column[TX_DROPPED],
		.tx_fifo = column[TX_FIFO],
	};
	return true;
}

int netcount_parse_devices(struct arena *arena, struct text t, struct net_device **devices,
			   size_t *count)
{
	struct scan lines = scan_of(t);
	struct text line;
	size_t room = 0, n = 0;
	bool has_header = false;

	while (scan_until(&lines, '\n', &line)) {
		room++;
		has_header = has_header || (line.len && memchr(line.data, '|', line.len));
	}
	if (!has_header)
		return fail(EINVAL, "net/dev: no header");
	struct net_device *list = arena_alloc(arena, room * sizeof(*list));

	lines = scan_of(t);
	while (scan_until(&lines, '\n', &line))
		n += parse_device(arena, line, &list[n]);
	*devices = list;
	*count = n;
	return 0;
}
