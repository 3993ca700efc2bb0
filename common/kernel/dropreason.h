/*
 * Why a packet was dropped, by name: enum skb_drop_reason of the running kernel
 * (include/net/dropreason-core.h), whose numbers differ from one to the next. From 6.4 on the high
 * half of a number names a part of the kernel with an enum of its own, in its module's BTF.
 */
#ifndef KERNEL_DROPREASON_H
#define KERNEL_DROPREASON_H

#include <stdint.h>

/*
 * "NETFILTER_DROP", "OVS_DROP_EXPLICIT"; "openvswitch:3", "#131": the kernel does not tell more.
 * Valid until dropreason_forget. BTF is read when it is first asked, which takes some 10 ms.
 */
const char *dropreason_name(uint32_t reason);
void dropreason_forget(void);

/* What of an enumerator's name is the reason: without "SKB_DROP_REASON_", "SKB_". */
const char *dropreason_short(const char *enumerator);

#endif
