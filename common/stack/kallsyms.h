/*
 * The kernel's own list of its functions. Format: kernel/kallsyms.c, s_show(): "ADDRESS TYPE NAME",
 * a tab and "[MODULE]" behind those of modules and BPF programs.
 */
#ifndef STACK_KALLSYMS_H
#define STACK_KALLSYMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/text.h"

struct buf;
struct kallsyms;

#define KALLSYMS_BYTES_MAX (256u << 20)

enum kallsyms_state {
	KALLSYMS_GOOD,
	KALLSYMS_EMPTY,                /* nothing that looks like a symbol */
	KALLSYMS_HIDDEN,               /* all addresses are 0: kptr_restrict, or no CAP_SYSLOG */
};

/* Takes the text over (it is changed, and freed with the result); `text` is empty afterwards. */
struct kallsyms *kallsyms_new(struct buf *text);
void kallsyms_free(struct kallsyms *k);
enum kallsyms_state kallsyms_state(const struct kallsyms *k);
size_t kallsyms_skipped(const struct kallsyms *k);     /* lines that are none */

struct kallsyms_symbol {
	const char *name;
	struct text module;            /* "[xfs]", "[bpf]"; empty: the kernel itself */
	uint64_t start;
};

/* False: no function covers the address (the last one of a module ends with its page). */
bool kallsyms_find(const struct kallsyms *k, uint64_t address, struct kallsyms_symbol *found);
/* Where the kernel begins, as its "_text" or "_stext" has it: what recordings note of it. */
bool kallsyms_mark(const struct kallsyms *k, const char *name, uint64_t *address);

#endif
