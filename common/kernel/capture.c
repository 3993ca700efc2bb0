#include "common/kernel/capture.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/ether.h>
#include <netinet/in.h>
#include <pcap.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/fail.h"
#include "common/base/scan.h"

#define SNAP_BYTES 262144              /* what tcpdump takes: filters return it for "all of it" */

/*
 * libpcap's filter compiler calls the functions below. Those of glibc load name service modules at
 * run time, which a static program can't do safely; ours know numbers only. They stand for the
 * whole program: nothing in it looks up names.
 */

struct numeric_address {
	struct addrinfo info;
	union {
		struct sockaddr any;
		struct sockaddr_in in4;
		struct sockaddr_in6 in6;
	} address;
};

static bool parse_port(const char *service, in_port_t *port)
{
	uint64_t n = 0;

	if (service && (!scan_all_u64(text_of(service), &n) || n > UINT16_MAX))
		return false;
	*port = htons((uint16_t)n);
	return true;
}

/* One result, never a list: protocol and socket type are whatever the caller asked for. */
int getaddrinfo(const char *restrict node, const char *restrict service,
		const struct addrinfo *restrict hints, struct addrinfo **restrict result)
{
	struct numeric_address *a = calloc(1, sizeof(*a));
	int family = hints ? hints->ai_family : AF_UNSPEC;
	in_port_t port;

	if (!a)
		return EAI_MEMORY;
	if (!parse_port(service, &port)) {
		free(a);
		return EAI_SERVICE;
	}
	a->info.ai_socktype = hints ? hints->ai_socktype : 0;
	a->info.ai_protocol = hints ? hints->ai_protocol : 0;
	a->info.ai_addr = &a->address.any;
	if (family != AF_INET6 &&
	    (!node || inet_pton(AF_INET, node, &a->address.in4.sin_addr) == 1)) {
		a->address.in4.sin_family = AF_INET;
		a->address.in4.sin_port = port;
		a->info.ai_addrlen = sizeof(a->address.in4);
	} else if (family != AF_INET &&
		   (!node || inet_pton(AF_INET6, node, &a->address.in6.sin6_addr) == 1)) {
		a->address.in6.sin6_family = AF_INET6;
		a->address.in6.sin6_port = port;
		a->info.ai_addrlen = sizeof(a->address.in6);
	} else {
		free(a);
		return EAI_NONAME;
	}
	a->info.ai_family = a->address.any.sa_family;
	*result = &a->info;
	return 0;
}

void freeaddrinfo(struct addrinfo *info)
{
	free(info);            /* the first member of a struct numeric_address */
}

struct hostent *gethostbyname(const char *name)
{
	(void)name;
	return NULL;
}

struct netent *getnetbyname(const char *name)
{
	(void)name;
	return NULL;
}

int getnetbyname_r(const char *restrict name, struct netent *restrict entry, char *restrict buffer,
		   size_t size, struct netent **restrict result, int *restrict h_error)
{
	(void)name, (void)entry, (void)buffer, (void)size;
	*result = NULL;
	*h_error = HOST_NOT_FOUND;
	return 0;
}

struct protoent *getprotobyname(const char *name)
{
	(void)name;
	return NULL;
}

int getprotobyname_r(const char *restrict name, struct protoent *restrict entry,
		     char *restrict buffer, size_t size, struct protoent **restrict result)
{
	(void)name, (void)entry, (void)buffer, (void)size;
	*result = NULL;
	return 0;
}

int ether_hostton(const char *name, struct ether_addr *address)
{
	(void)name, (void)address;
	return -1;
}

/*
 * libpcap.a lists these kinds of device for pcap_create() and pcap_findalldevs(); the libraries
 * behind them (libdbus, libibverbs) have no place here. Declared in libpcap's pcap-dbus.h and
 * pcap-rdmasniff.h.
 */
struct pcap_if_list;
pcap_t *dbus_create(const char *device, char *error, int *is_ours);
int dbus_findalldevs(struct pcap_if_list *devices, char *error);
pcap_t *rdmasniff_create(const char *device, char *error, int *is_ours);
int rdmasniff_findalldevs(struct pcap_if_list *devices, char *error);

pcap_t *dbus_create(const char *device, char *error, int *is_ours)
{
	(void)device, (void)error;
	*is_ours = 0;
	return NULL;
}

int dbus_findalldevs(struct pcap_if_list *devices, char *error)
{
	(void)devices, (void)error;
	return 0;
}

pcap_t *rdmasniff_create(const char *device, char *error, int *is_ours)
{
	return dbus_create(device, error, is_ours);
}

int rdmasniff_findalldevs(struct pcap_if_list *devices, char *error)
{
	return dbus_findalldevs(devices, error);
}

const char *capture_library_version(void)
{
	return pcap_lib_version();
}

/* libpcap's "unknown host 'x'" is about a name: say that names are the trouble. */
static const char *filter_hint(const char *error)
{
	static const char *const about_names[] = {
		"unknown host", "unknown network", "unknown port", "unknown ether host",
		"unknown ip proto", "unknown ip6 proto", "unknown protocol",
	};

	for (size_t i = 0; i < sizeof(about_names) / sizeof(*about_names); i++)
		if (text_starts(text_of(error), about_names[i]))
			return " (names are not looked up: give the number)";
	return "";
}

int capture_check_filter(const char *expression, unsigned *instructions)
{
	pcap_t *dead = pcap_open_dead(DLT_EN10MB, SNAP_BYTES);
	struct bpf_program program;

	if (!dead)
		return fail(ENOMEM, "libpcap: no memory for a filter");
	if (pcap_compile(dead, &program, expression, 1, PCAP_NETMASK_UNKNOWN) < 0) {
		const char *error = pcap_geterr(dead);
		int err = fail(EINVAL, "%s%s in filter \"%s\"", error, filter_hint(error),
			       expression);

		pcap_close(dead);
		return err;
	}
	*instructions = program.bf_len;
	pcap_freecode(&program);
	pcap_close(dead);
	return 0;
}
