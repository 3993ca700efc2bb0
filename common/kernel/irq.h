/*
 * Interrupt lines: /proc/irq/N (kernel/irq/proc.c, Documentation/core-api/irq/irq-affinity.rst),
 * which a network device has, and what their names say.
 */
#ifndef KERNEL_IRQ_H
#define KERNEL_IRQ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/mem.h"
#include "common/base/na.h"
#include "common/kernel/cpumask.h"

enum irq_managed { IRQ_UNMANAGED, IRQ_MANAGED, IRQ_MANAGED_UNKNOWN };

struct irq {
	uint32_t number;
	bool has_asked, has_effective; /* asked: smp_affinity. effective: where it really goes */
	struct cpumask asked, effective;
	const char *hint;              /* the driver's wish, a CPU list; NULL: none */
	uint64_t node;                 /* of the device; NA_U64 */
	/*
	 * The kernel alone says where it goes (storage queues). Told by the file's mode: 0444 from
	 * Linux 6.10 on; before that it is 0644 whatever it is, and only writing tells (EIO).
	 */
	enum irq_managed managed;
};

/* Strings in arena. 0, or -errno with fail text: its smp_affinity can't be read. */
int irq_read(struct arena *arena, uint32_t number, struct irq *irq);

/*
 * The lines of a device of the bus, in ascending order: device/msi_irqs, one level up for virtio,
 * else the one in device/irq. Their names are in /proc/interrupts. -ENOENT with fail text: it is no
 * device of a bus, or nothing is known there. `path`: of the device, see irq_device_path.
 */
int irq_list(struct arena *arena, const char *path, uint32_t **list, size_t *count);

/* "sys/devices/pci0000:00/0000:00:03.0/virtio2" of "eth0"; NULL: virtual, or there is none. */
const char *irq_device_path(struct arena *arena, const char *interface);

/* What a line's name says of its queue. Drivers agree on nothing but that a number ends it. */
enum irq_use { IRQ_OTHER, IRQ_RX, IRQ_TX, IRQ_BOTH };
struct irq_name {
	enum irq_use use;              /* IRQ_OTHER: no queue: link state, admin, events */
	uint64_t queue;                /* NA_U64 for IRQ_OTHER */
};
void irq_parse_name(const char *name, struct irq_name *n);
/* gve has one count for both ways: of `blocks` the first half is transmit, the second receive. */
void irq_split_gve(struct irq_name *n, const char *name, uint64_t blocks);
/* Does the name speak of that interface: "eth0-TxRx-3", "i40e-eth0-TxRx-3", not "eth01-0"? */
bool irq_name_has(struct text name, const char *interface);

#endif
