#include "common/kernel/handshake.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/bpf.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/base/buf.h"
#include "common/base/fail.h"
#include "common/base/scan.h"
#include "common/kernel/bpf.h"
#include "common/kernel/source.h"
#include "handshake.skel.h"

#define LINE_LEAST 40                  /* bytes: 32 digits of address, five numbers of one */
#define ADDRESS_DIGITS 32

static struct handshake_bpf *program;

/* ---- reading the map ---- */

static int map_command(int command, const void *key, void *to)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.map_fd = (uint32_t)bpf_map__fd(program->maps.places);
	attr.key = (uint64_t)(uintptr_t)key;
	attr.value = (uint64_t)(uintptr_t)to;  /* the same place as next_key */
	return (int)syscall(SYS_bpf, command, &attr, sizeof(attr));
}

static void add_row(struct buf *to, const struct handshake_place *p,
		    const struct handshake_count *c)
{
	buf_printf(to, "%u %u ", p->netns, p->family);
	for (size_t i = 0; i < sizeof(p->address); i++)
		buf_printf(to, "%02x", p->address[i]);
	buf_printf(to, " %u %" PRIu64, p->port, (uint64_t)c->arrived);
	if (program->bss->tells_overflow)
		buf_printf(to, " %" PRIu64 "\n", (uint64_t)c->refused);
	else
		buf_add_text(to, " -\n");
}

/* Entries are never taken out, so walking them key by key meets each once. */
static int fetch(void *arg, struct buf *reply)
{
	struct handshake_place key, next;
	struct handshake_count count;
	const void *from = NULL;

	(void)arg;
	if (!program)
		return fail(ENOENT, "bpf handshake: not open");
	for (unsigned n = 0; n < HANDSHAKE_PLACES; n++) {
		if (map_command(BPF_MAP_GET_NEXT_KEY, from, &next))
			break;
		key = next;
		from = &key;
		if (!map_command(BPF_MAP_LOOKUP_ELEM, &key, &count))
			add_row(reply, &key, &count);
	}
	buf_printf(reply, "lost %" PRIu64 "\n", (uint64_t)program->bss->lost);
	return 0;
}

static bool scan_address(struct text word, uint8_t address[16])
{
	if (word.len != ADDRESS_DIGITS)
		return false;
	for (size_t i = 0; i < 16; i++) {
		struct scan s = { word.data + 2 * i, word.data + 2 * i + 2 };
		uint64_t byte;

		if (!scan_hex(&s, &byte) || s.at != s.end)
			return false;
		address[i] = (uint8_t)byte;
	}
	return true;
}

static bool scan_refused(struct scan *s, uint64_t *refused)
{
	struct text word;

	if (scan_u64(s, refused))
		return true;
	*refused = NA_U64;
	return scan_word(s, &word) && text_is(word, "-");
}

static bool scan_row(struct text line, struct handshake_row *row)
{
	struct scan s = scan_of(line);
	uint64_t netns, family, port, arrived, refused;
	struct text word;

	*row = (struct handshake_row){ 0 };
	if (!scan_u64(&s, &netns) || !scan_u64(&s, &family) || !scan_word(&s, &word) ||
	    !scan_address(word, row->place.address) || !scan_u64(&s, &port) ||
	    !scan_u64(&s, &arrived) || !scan_refused(&s, &refused) || scan_rest(&s).len ||
	    netns > UINT32_MAX || family > UINT16_MAX || port > UINT16_MAX)
		return false;
	row->place.netns = (uint32_t)netns;
	row->place.family = (uint16_t)family;
	row->place.port = (uint16_t)port;
	row->count.arrived = arrived;
	row->count.refused = refused;
	return true;
}

int handshake_parse(struct text reply, struct arena *arena, const struct handshake_row **rows,
		    size_t *count, uint64_t *lost)
{
	struct handshake_row *r = arena_alloc(arena, (reply.len / LINE_LEAST + 1) * sizeof(*r));
	struct scan s = scan_of(reply);
	struct text line;
	size_t n = 0;

	while (scan_until(&s, '\n', &line)) {
		struct scan last = scan_of(line);
		uint64_t value;

		if (scan_literal(&last, "lost")) {
			if (!scan_u64(&last, &value) || scan_rest(&last).len)
				break;
			*rows = r;
			*count = n;
			*lost = value;
			return 0;
		}
		if (line.len < LINE_LEAST || !scan_row(line, &r[n]))
			break;
		n++;
	}
	return fail(EINVAL, "bpf handshake: line %zu is garbled or missing", n + 1);
}

int handshake_read(const struct handshake_row **rows, size_t *count, uint64_t *lost)
{
	struct text reply;
	int err = src_call("bpf handshake", fetch, NULL, &reply);

	return err ? err : handshake_parse(reply, src_arena(), rows, count, lost);
}

/* ---- opening ---- */

/* Linux before 5.17 gives kfree_skb no reason: what reads one can't be loaded there. */
static int open_and_load(bool with_drops)
{
	program = handshake_bpf__open();
	if (!program)
		return errno;
	bpf_program__set_autoload(program->progs.free_skb, with_drops);
	return -handshake_bpf__load(program);
}

static int load(void)
{
	bpf_quiet();
	int err = open_and_load(true);

	if (!program)
		return err == ENOTSUP ? fail(ENOTSUP, "built without BPF") :
			bpf_fail(err, "opening the BPF programs");
	if (err && err != EPERM) {
		handshake_close();
		err = open_and_load(false);
	}
	if (err == EPERM)
		return bpf_fail_refused(err);
	if (err)
		return bpf_fail(err, "loading the BPF programs");
	err = -handshake_bpf__attach(program);
	return err ? bpf_fail(err, "attaching the BPF programs") : 0;
}

int handshake_open(void)
{
	if (!src_is_live() || program)
		return 0;
	int err = load();

	if (err)
		handshake_close();
	return err;
}

void handshake_close(void)
{
	handshake_bpf__destroy(program);
	program = NULL;
}
