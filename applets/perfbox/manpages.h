/* The man pages inside the program: man/NAME.8 as it is, sorted by name. Made by the Makefile. */
#ifndef APPLETS_PERFBOX_MANPAGES_H
#define APPLETS_PERFBOX_MANPAGES_H

#include <stddef.h>

struct man_page {
	const char *name;              /* "listenq" */
	const char *data, *end;        /* man(7) source, not NUL-terminated */
};

extern const struct man_page man_pages[];
extern const size_t man_page_count;

#endif
