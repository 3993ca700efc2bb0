/*
 * man(7) source as plain text, so that a page can be read where neither man nor groff is. Knows the
 * macros and escapes our pages use; what it does not know is left out, never printed raw.
 */
#ifndef REPORT_ROFF_H
#define REPORT_ROFF_H

#include <stdbool.h>

#include "common/base/buf.h"
#include "common/base/text.h"

#define ROFF_WIDTH_MIN 30
#define ROFF_WIDTH_MAX 500

/*
 * Appends the page, filled to `width` columns (kept between the bounds above). With bold, bold and
 * italic text stand in SGR sequences (1 and 4), closed again in the line where they were opened; a
 * pager needs to let them through (less -R).
 */
void roff_render(struct text source, unsigned width, bool bold, struct buf *to);

#endif
