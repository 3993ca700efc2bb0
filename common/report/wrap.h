/* Filling help texts into a column. */
#ifndef REPORT_WRAP_H
#define REPORT_WRAP_H

#include <stddef.h>

#include "common/base/buf.h"

/*
 * Appends the words of text and a newline. The line being written has reached `column`; lines that
 * would pass `width` continue there on the next one.
 */
void wrap_words(struct buf *to, const char *text, size_t column, size_t width);

#endif
