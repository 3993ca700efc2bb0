#include "common/kernel/kmsg.h"

#include <errno.h>

#include "common/base/fail.h"
#include "common/base/scan.h"
#include "common/kernel/source.h"

#define NS_PER_SEC 1000000000u
#define NS_PER_USEC 1000u
#define PRIORITY_UNKNOWN 6
#define PRIORITY_MAX 0xffff
#define FACILITY_SHIFT 3               /* the level is below; facility 0 is the kernel */
#define FORMAT_LINES 8                 /* lines to tell the format by: the first ones may be cut */

const char *kmsg_kind_name(enum kmsg_kind k)
{
	static const char *const names[KMSG_KINDS] = {
		[KMSG_OTHER] = "other",
		[KMSG_OOM] = "out of memory",
		[KMSG_CONNTRACK_FULL] = "conntrack table full",
		[KMSG_SYN_FLOOD] = "SYN flood",
		[KMSG_TIME_WAIT_OVERFLOW] = "TIME-WAIT overflow",
		[KMSG_NEIGHBOUR_FULL] = "neighbour table full",
		[KMSG_NETDEV_WATCHDOG] = "transmit timeout",
		[KMSG_HUNG_TASK] = "hung task",
		[KMSG_SOFT_LOCKUP] = "soft lockup",
		[KMSG_HARD_LOCKUP] = "hard lockup",
		[KMSG_MCE] = "hardware error",
		[KMSG_IO_ERROR] = "I/O error",
		[KMSG_FILE_SYSTEM] = "file system error",
	};

	return names[k];
}

/*
 * What tells a kind, looked for where a word starts; `also` must stand somewhere behind it. In the
 * order of the kernel's files: mm/oom_kill.c and mm/memcontrol.c (wordings of 3.10 to 6.x),
 * net/netfilter/nf_conntrack_core.c, net/ipv4/tcp_input.c, net/ipv4/inet_timewait_sock.c,
 * net/core/neighbour.c, net/sched/sch_generic.c, kernel/hung_task.c, kernel/watchdog.c,
 * arch/x86/kernel/cpu/mce, drivers/firmware/efi/cper.c, block/blk-core.c, fs/buffer.c, fs/ext4 ...
 */
static const struct {
	const char *needle, *also;
	enum kmsg_kind kind;
} signs[] = {
	{ "invoked oom-killer", NULL, KMSG_OOM },
	{ "oom-kill:", NULL, KMSG_OOM },
	{ "oom_reaper: ", NULL, KMSG_OOM },
	{ "Killed process ", NULL, KMSG_OOM },
	{ "Kill process ", NULL, KMSG_OOM },
	{ "Out of memory", NULL, KMSG_OOM },
	{ "Memory cgroup out of memory", NULL, KMSG_OOM },
	{ "killed as a result of limit of", NULL, KMSG_OOM },
	{ "killed due to memory.oom.group set", NULL, KMSG_OOM },
	{ "conntrack: table full", NULL, KMSG_CONNTRACK_FULL },
	{ "Possible SYN flooding on port", NULL, KMSG_SYN_FLOOD },
	{ "possible SYN flooding on port", NULL, KMSG_SYN_FLOOD },
	{ "time wait bucket table overflow", NULL, KMSG_TIME_WAIT_OVERFLOW },
	{ "neighbor table overflow", NULL, KMSG_NEIGHBOUR_FULL },
	{ "Neighbour table overflow", NULL, KMSG_NEIGHBOUR_FULL },
	{ "NETDEV WATCHDOG: ", NULL, KMSG_NETDEV_WATCHDOG },
	{ "INFO: task ", " blocked ", KMSG_HUNG_TASK },
	{ "soft lockup - CPU", NULL, KMSG_SOFT_LOCKUP },
	{ "hard LOCKUP on cpu", NULL, KMSG_HARD_LOCKUP },
	{ "[Hardware Error]", NULL, KMSG_MCE },
	{ "Machine check events logged", NULL, KMSG_MCE },
	{ "error, dev ", NULL, KMSG_IO_ERROR },
	{ "Buffer I/O error", NULL, KMSG_IO_ERROR },
	{ "EXT4-fs error", NULL, KMSG_FILE_SYSTEM },
	{ "EXT3-fs error", NULL, KMSG_FILE_SYSTEM },
	{ "EXT2-fs error", NULL, KMSG_FILE_SYSTEM },
	{ "EXT3-fs (", "): error", KMSG_FILE_SYSTEM },
	{ "EXT2-fs (", "): error", KMSG_FILE_SYSTEM },
	{ "FAT-fs (", "): error", KMSG_FILE_SYSTEM },
	{ "Aborting journal", NULL, KMSG_FILE_SYSTEM },
	{ "XFS (", "orruption", KMSG_FILE_SYSTEM },
	{ "XFS (", "nternal error", KMSG_FILE_SYSTEM },
	{ "XFS (", "I/O error", KMSG_FILE_SYSTEM },
	{ "XFS (", "I/O Error", KMSG_FILE_SYSTEM },
	{ "XFS (", "hutting down filesystem", KMSG_FILE_SYSTEM },
	{ "BTRFS error", NULL, KMSG_FILE_SYSTEM },
	{ "BTRFS critical", NULL, KMSG_FILE_SYSTEM },
	{ "BTRFS: error", NULL, KMSG_FILE_SYSTEM },
	{ "forced readonly", NULL, KMSG_FILE_SYSTEM },
	{ "remounting filesystem read-only", NULL, KMSG_FILE_SYSTEM },
	{ "Remounting filesystem read-only", NULL, KMSG_FILE_SYSTEM },
	{ "remounting read-only", NULL, KMSG_FILE_SYSTEM },
	{ "SQUASHFS error", NULL, KMSG_FILE_SYSTEM },
};

#define SIGNS (sizeof(signs) / sizeof(*signs))

static bool is_word_byte(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

static enum kmsg_kind kind_at(struct text rest)
{
	for (size_t i = 0; i < SIGNS; i++) {
		const char *also = signs[i].also;

		if (rest.data[0] != signs[i].needle[0] || !text_starts(rest, signs[i].needle))
			continue;
		if (!also || memmem(rest.data, rest.len, also, strlen(also)))
			return signs[i].kind;
	}
	return KMSG_OTHER;
}

/* By a sign's first byte: which second bytes (by their low five bits) there are. Every sign has
 * two. */
static const uint32_t *sign_starts(void)
{
	static uint32_t starts[256];
	static bool is_ready;

	for (size_t i = 0; !is_ready && i < SIGNS; i++) {
		const unsigned char *needle = (const unsigned char *)signs[i].needle;

		starts[needle[0]] |= 1u << (needle[1] & 31);
	}
	is_ready = true;
	return starts;
}

enum kmsg_kind kmsg_classify(struct text line)
{
	const uint32_t *starts = sign_starts();

	for (size_t i = 0; i + 1 < line.len; i++) {
		const uint32_t seconds = starts[(unsigned char)line.data[i]];

		if (!(seconds >> (line.data[i + 1] & 31) & 1) ||
		    (i > 0 && is_word_byte(line.data[i - 1])))
			continue;
		enum kmsg_kind k = kind_at((struct text){ line.data + i, line.len - i });

		if (k != KMSG_OTHER)
			return k;
	}
	return KMSG_OTHER;
}

/* ---- the raw format ---- */

/* Stands for what is not printable, and for the backslash; most lines have neither. */
struct text kmsg_unescape(struct arena *arena, struct text t)
{
	if (!t.len || !memchr(t.data, '\\', t.len))
		return t;
	char *copy = arena_alloc(arena, t.len), *to = copy;

	for (size_t i = 0; i < t.len; i++) {
		const char *p = t.data + i;

		if (*p == '\\' && t.len - i > 3 && p[1] == 'x' && scan_hex_digit(p[2]) >= 0 &&
		    scan_hex_digit(p[3]) >= 0) {
			*to++ = (char)(scan_hex_digit(p[2]) << 4 | scan_hex_digit(p[3]));
			i += 3;
		} else {
			*to++ = *p;
		}
	}
	return (struct text){ copy, (size_t)(to - copy) };
}

static uint64_t times(uint64_t n, unsigned by)
{
	uint64_t product;

	return __builtin_mul_overflow(n, by, &product) ? NA_U64 : product;
}

/* A comma and a number; no blanks, and as fast as it can be: it runs for every line there is. */
static bool parse_field(struct scan *s, uint64_t *value)
{
	return s->at < s->end && *s->at >= '0' && *s->at <= '9' && scan_u64(s, value) &&
	       s->at < s->end && *s->at++ == ',';
}

/* Fields may be added before the semicolon. */
bool kmsg_parse_header(struct text line, struct kmsg_header *header)
{
	struct scan s = scan_of(line);
	uint64_t priority, sequence, usec;
	struct text more;

	if (!parse_field(&s, &priority) || priority > PRIORITY_MAX || !parse_field(&s, &sequence) ||
	    !parse_field(&s, &usec) || !scan_until(&s, ';', &more))
		return false;
	*header = (struct kmsg_header){ (unsigned)priority, sequence, times(usec, NS_PER_USEC),
					more, scan_rest(&s) };
	return true;
}

static bool looks_raw(struct text content)
{
	struct scan s = scan_of(content);
	struct kmsg_header ignored;
	struct text line;

	for (int i = 0; i < FORMAT_LINES && scan_line(&s, &line); i++)
		if (kmsg_parse_header(line, &ignored))
			return true;
	return false;
}

/* Past the " KEY=value" lines that belong to the record before. */
static void skip_continuation(struct scan *s)
{
	struct text line;

	while (s->at < s->end && *s->at == ' ')
		scan_line(s, &line);
}

void kmsg_count_lost(uint64_t *last, uint64_t *lost, uint64_t sequence)
{
	/* it starts again where the logs of two boots stand one behind the other */
	if (*last != NA_U64 && sequence > *last) {
		const uint64_t more = sequence - *last - 1, room = NA_U64 - 1 - *lost;

		*lost += more < room ? more : room;
	}
	*last = sequence;
}

static bool next_raw(struct kmsg_reader *r, struct scan *s, struct kmsg_record *record)
{
	struct kmsg_header header;
	struct text line;

	while (s->at < s->end) {
		const char *start = s->at;

		if (!scan_line(s, &line))
			return false;
		if (!kmsg_parse_header(line, &header)) {
			r->garbled++;
			continue;
		}
		skip_continuation(s);
		record->raw = (struct text){ start, (size_t)(s->at - start) };
		if (record->raw.data[record->raw.len - 1] == '\n')
			record->raw.len--;
		record->priority = header.priority;
		record->sequence = header.sequence;
		record->boot_ns = header.boot_ns;
		record->text = kmsg_unescape(r->arena, header.text);
		if (!(record->priority >> FACILITY_SHIFT))
			record->kind = kmsg_classify(record->text);
		kmsg_count_lost(&r->last_sequence, &r->lost, record->sequence);
		return true;
	}
	return false;
}

/* ---- dmesg's formats ---- */

/* "12.345678]": six digits, or fewer where somebody cut them. */
static bool parse_seconds(struct scan *s, uint64_t *ns)
{
	uint64_t seconds, fraction = 0;
	unsigned unit = NS_PER_SEC;

	if (!scan_u64(s, &seconds) || !scan_literal(s, "."))
		return false;
	for (; s->at < s->end && *s->at >= '0' && *s->at <= '9' && unit > 1; s->at++) {
		unit /= 10;
		fraction += (uint64_t)(*s->at - '0') * unit;
	}
	uint64_t whole = times(seconds, NS_PER_SEC);

	*ns = whole == NA_U64 || whole > UINT64_MAX - NS_PER_SEC ? NA_U64 : whole + fraction;
	return true;
}

/* "<6>[   12.345678][  T123] text": each of the three may be missing. */
static void parse_plain(struct text line, struct kmsg_record *record)
{
	struct scan s = scan_of(line), copy = s;
	uint64_t priority, ns;
	struct text caller;

	if (scan_literal(&copy, "<") && scan_u64(&copy, &priority) && priority <= PRIORITY_MAX &&
	    scan_literal(&copy, ">")) {
		record->priority = (unsigned)priority;
		s = copy;
	}
	copy = s;
	if (scan_literal(&copy, "[") && parse_seconds(&copy, &ns) && scan_literal(&copy, "]")) {
		record->boot_ns = ns;
		if (scan_literal(&copy, "["))
			scan_until(&copy, ']', &caller);
		scan_literal(&copy, " ");
		s = copy;
	}
	record->text = scan_rest(&s);
	if (!(record->priority >> FACILITY_SHIFT))
		record->kind = kmsg_classify(record->text);
}

static bool next_plain(struct scan *s, struct kmsg_record *record)
{
	struct text line;

	while (scan_line(s, &line)) {
		if (!line.len)
			continue;
		record->raw = line;
		parse_plain(line, record);
		return true;
	}
	return false;
}

int kmsg_next(struct kmsg_reader *r, struct kmsg_record *record)
{
	struct kmsg_record new = {
		.sequence = NA_U64, .boot_ns = NA_U64, .realtime_ns = NA_U64,
		.priority = PRIORITY_UNKNOWN, .kind = KMSG_OTHER,
	};
	struct scan s = scan_of(r->left);
	bool is_there = r->is_raw ? next_raw(r, &s, &new) : next_plain(&s, &new);

	r->left = scan_rest(&s);
	if (!is_there)
		return 0;
	if (r->boot_realtime_ns != NA_U64 && new.boot_ns != NA_U64 &&
	    __builtin_add_overflow(r->boot_realtime_ns, new.boot_ns, &new.realtime_ns))
		new.realtime_ns = NA_U64;
	*record = new;
	return 1;
}

/* ---- the system ---- */

uint64_t kmsg_boot_realtime(void)
{
	const struct frame *frame = src_frame();
	struct text t;
	uint64_t uptime_ns;

	if (!frame || !frame->realtime_ns || src_read("proc/uptime", &t) < 0)
		return NA_U64;
	struct scan s = scan_of(t);

	if (!parse_seconds(&s, &uptime_ns) || uptime_ns == NA_U64 || uptime_ns > frame->realtime_ns)
		return NA_U64;
	return frame->realtime_ns - uptime_ns;
}

void kmsg_start(struct kmsg_reader *r, struct arena *arena, struct text content)
{
	*r = (struct kmsg_reader){
		.left = content, .is_raw = looks_raw(content), .arena = arena,
		.boot_realtime_ns = kmsg_boot_realtime(), .last_sequence = NA_U64,
	};
}

int kmsg_read(struct text *content)
{
	int err = src_read("dev/kmsg", content);

	if (err == -EPERM || err == -EACCES)
		return fail(-err, "/dev/kmsg: refused (needs CAP_SYSLOG, as "
			    "kernel.dmesg_restrict=1 or the file's mode demands)");
	return err < 0 ? err : 0;
}
