/* irqbalance, the daemon that moves interrupts: whether it runs, and what it was told to leave. */
#ifndef KERNEL_IRQBALANCE_H
#define KERNEL_IRQBALANCE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/mem.h"
#include "common/base/text.h"

struct irqbalance {
	uint32_t pid;                  /* 0: none seen */
	const char *bans;              /* what it is told not to touch, as it was told; NULL */
};

/*
 * Looks through all processes' names (thorough), or only where the daemon says its PID
 * (run/irqbalance/irqbalancePID.sock, run/irqbalance.pid). Of a running one: --banirq and the like
 * on its command line, IRQBALANCE_BANNED_... and IRQBALANCE_ARGS of its usual settings files.
 */
void irqbalance_find(struct arena *arena, bool is_thorough, struct irqbalance *b);

/* Its command line, NUL-separated, and a settings file of NAME=VALUE lines: the words that ban,
 * appended one by one with blanks between. */
struct buf;
void irqbalance_add_args(struct buf *to, struct text cmdline);
void irqbalance_add_settings(struct buf *to, struct text settings);

#endif
