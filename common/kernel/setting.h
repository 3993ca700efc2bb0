/*
 * Settings that are written: the only place in the program where the host is changed, and only by
 * irqbind --apply and --rollback. Paths are below the folder that the first frame is read from: "/"
 * live, else a copy of a host (src_tree_open), where a whole rehearsal leaves the host alone.
 *
 * What may be written (setting_kind_of):
 *     proc/irq/N/smp_affinity_list, smp_affinity          CPUs of an interrupt
 *     sys/class/net/IF/queues/rx-N/rps_cpus, rps_flow_cnt
 *     sys/class/net/IF/queues/tx-N/xps_cpus
 *     proc/sys/net/...                                    network settings
 *     ring/IF/rx, ring/IF/tx                              descriptors per queue: no file, an ioctl
 */
#ifndef KERNEL_SETTING_H
#define KERNEL_SETTING_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/base/mem.h"
#include "common/base/text.h"

enum setting_kind {
	SETTING_NONE,                  /* not one of ours: never written */
	SETTING_IRQ_LIST, SETTING_IRQ_MASK, SETTING_RPS, SETTING_XPS, SETTING_NUMBER, SETTING_TEXT,
	SETTING_RING
};
enum setting_kind setting_kind_of(const char *path);
uint64_t setting_irq_of(const char *path);              /* the N of the first line; NA_U64 */

/* Do two values of that kind mean the same ("3" and "00000000,00000003"; "0-1" and "0,1")? */
bool setting_is_same(enum setting_kind kind, const char *a, const char *b);
/* One of that kind at all: a CPU list, a mask, a number or several, one line of text. */
bool setting_is_valid(enum setting_kind kind, const char *value);

int setting_open(void);                /* 0 or -errno with fail text */
void setting_close(void);              /* also of what was never opened */
bool setting_is_live(void);

/* As it stands now, whatever the frame read before, without the newline. *value in arena. */
int setting_read(struct arena *arena, const char *path, const char **value);

/*
 * One write(2) of value, whose result is that of the kernel's check (a buffered stream would learn
 * it at its end). 0 or -errno with fail text: EIO or EPERM for an interrupt is one the kernel keeps
 * to itself (managed), ENOSPC a CPU that has no vector left, EINVAL no CPU that is online,
 * EOVERFLOW one that can't be. is_refused: it was the kernel that said so, to the write, and not
 * opening.
 */
int setting_write(const char *path, const char *value, bool *is_refused);

#endif
