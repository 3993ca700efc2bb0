#include "common/kernel/irqbalance.h"

#include <stdio.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/base/scan.h"
#include "common/kernel/source.h"

#define COMM "irqbalance\n"

static bool is_it(uint64_t pid)
{
	struct text t;

	return pid && pid <= UINT32_MAX &&
		src_readf(&t, "proc/%llu/comm", (unsigned long long)pid) >= 0 && text_is(t, COMM);
}

/* The socket it listens on has its PID in its name. */
static uint32_t pid_of_socket(void)
{
	struct src_names names;

	if (src_list("run/irqbalance", &names) < 0)
		return 0;
	for (size_t i = 0; i < names.count; i++) {
		struct scan s = scan_of(text_of(names.items[i]));
		uint64_t pid;

		if (scan_literal(&s, "irqbalance") && scan_u64(&s, &pid) && is_it(pid))
			return (uint32_t)pid;
	}
	return 0;
}

static uint32_t pid_of_file(void)
{
	struct text t;
	uint64_t pid;

	if (src_read("run/irqbalance.pid", &t) < 0)
		return 0;
	struct scan s = scan_of(t);

	return scan_u64(&s, &pid) && is_it(pid) ? (uint32_t)pid : 0;
}

static uint32_t pid_of_name(void)
{
	struct src_dir proc;
	const uint32_t *pids;
	size_t count;
	uint32_t found = 0;
	char name[32];
	struct text t;

	if (src_dir_open(&proc, "proc") < 0)
		return 0;
	if (src_dir_numbers(&proc, &pids, &count) < 0)
		count = 0;
	for (size_t i = 0; i < count && !found; i++) {
		snprintf(name, sizeof(name), "%u/comm", pids[i]);
		if (src_dir_read(&proc, name, &t) >= 0 && text_is(t, COMM))
			found = pids[i];
	}
	src_dir_close(&proc);
	return found;
}

static void add_word(struct buf *to, struct text word)
{
	if (to->len)
		buf_add_char(to, ' ');
	buf_add(to, word.data, word.len);
}

static bool is_ban(struct text word)
{
	return text_starts(word, "--ban") || text_starts(word, "--policyscript") ||
		text_starts(word, "-i") || text_starts(word, "-l") || text_starts(word, "-m");
}

/* Of "-i 24" and "--banirq 24" the next word belongs to it. */
static bool takes_next(struct text word)
{
	return word.len == 2 || (text_starts(word, "--") && !memchr(word.data, '=', word.len));
}

void irqbalance_add_args(struct buf *to, struct text cmdline)
{
	struct scan s = scan_of(cmdline);
	struct text word;
	bool is_wanted = false;

	while (scan_until(&s, '\0', &word)) {
		const bool is_operand = is_wanted && !text_starts(word, "-");

		is_wanted = is_ban(word);
		if (is_wanted || is_operand)
			add_word(to, word);
		is_wanted = is_wanted && takes_next(word);
	}
}

void irqbalance_add_settings(struct buf *to, struct text settings)
{
	struct scan s = scan_of(settings);
	struct text line;

	while (scan_line(&s, &line)) {
		struct scan l = scan_of(line);

		scan_blanks(&l);
		struct text rest = scan_rest(&l), name;

		if (!scan_until(&l, '=', &name) || !scan_rest(&l).len ||
		    text_is(scan_rest(&l), "\"\""))
			continue;
		if (text_starts(name, "IRQBALANCE_BANNED") || text_is(name, "IRQBALANCE_ARGS") ||
		    text_is(name, "OPTIONS"))
			add_word(to, rest);
	}
}

void irqbalance_find(struct arena *arena, bool is_thorough, struct irqbalance *b)
{
	static const char *const files[] = { "etc/default/irqbalance", "etc/sysconfig/irqbalance" };
	struct buf bans = { 0 };
	struct text t;

	*b = (struct irqbalance){ pid_of_socket(), NULL };
	if (!b->pid)
		b->pid = pid_of_file();
	if (!b->pid && is_thorough)
		b->pid = pid_of_name();
	if (!b->pid)
		return;
	if (src_readf(&t, "proc/%u/cmdline", b->pid) >= 0)
		irqbalance_add_args(&bans, t);
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		if (src_read(files[i], &t) >= 0)
			irqbalance_add_settings(&bans, t);
	if (bans.len)
		b->bans = arena_text(arena, buf_text(&bans));
	buf_free(&bans);
}
