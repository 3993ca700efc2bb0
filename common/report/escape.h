/*
 * Names come from strangers: a thread's comm or a cgroup may hold any byte. What each output format
 * makes of them, and how wide the result is on a terminal.
 */
#ifndef REPORT_ESCAPE_H
#define REPORT_ESCAPE_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/base/utf8.h"

/* Control bytes, C1, text direction, invisible characters and invalid bytes as \xNN. */
void escape_people(struct buf *to, struct text name);

/* \t \n \r \\, other control bytes and `also` (0: none) as \xNN. Other bytes as they are. */
void escape_tsv(struct buf *to, struct text name, char also);

/* A quoted JSON string; what is invalid becomes U+FFFD, what people would not see \uNNNN. */
void escape_json(struct buf *to, struct text name);

/* The inside of an OpenMetrics label value; control bytes read \xNN there too. */
void escape_label(struct buf *to, struct text name);

/* Cells an escaped text takes on a terminal: 2 for wide characters, 0 for combining ones. */
size_t escape_width(struct text t);

/* Bytes of the longest start of t that is at most `width` cells wide, and of the longest end. */
size_t escape_head(struct text t, size_t width);
size_t escape_tail(struct text t, size_t width);

#endif
