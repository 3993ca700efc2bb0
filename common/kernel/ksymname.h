/*
 * The kernel's own look-up of its functions, one address at a time: what stands there, without
 * /proc/kallsyms, whose 120,000 lines take the kernel 40 ms to print. Format of the answer:
 * kernel/kallsyms.c, __sprint_symbol(), as %pS in lib/vsprintf.c has it.
 *
 * A BPF program of seven instructions asks (bpf_snprintf(), Linux 5.13, in a program that is called
 * by us alone, Linux 5.14): needs CAP_BPF and CAP_PERFMON. Where it may not run there is the list.
 */
#ifndef KERNEL_KSYMNAME_H
#define KERNEL_KSYMNAME_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/text.h"

struct ksymname;

/* 0 or -errno with fail text: -EPERM, -EINVAL (an older kernel), -ENOSYS. ksymname_close. */
int ksymname_open(struct ksymname **opened);
void ksymname_close(struct ksymname *k);

struct ksymname_answer {
	struct text name;
	struct text module;            /* "[xfs]"; empty: the kernel itself, or a BPF program */
	uint64_t offset;               /* of the address into the function */
};

/* False: nothing is there. The texts are valid until the next call. */
bool ksymname_find(struct ksymname *k, uint64_t address, struct ksymname_answer *found);

/* "schedule+0x12/0x80 [xfs]" as above. False: it is none (an address that nothing covers). */
bool ksymname_parse(struct text line, struct ksymname_answer *found);

#endif
