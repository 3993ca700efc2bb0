/* Packet capture filters, and the only place that knows libpcap. */
#ifndef KERNEL_CAPTURE_H
#define KERNEL_CAPTURE_H

const char *capture_library_version(void);

/*
 * Would this filter compile for Ethernet? 0 and the number of BPF instructions it takes, or -EINVAL
 * and libpcap's reason. Hosts, networks and ports are numbers: no name is ever looked up, because a
 * tool that looks at a sick machine must not wait for its resolver.
 */
int capture_check_filter(const char *expression, unsigned *instructions);

#endif
