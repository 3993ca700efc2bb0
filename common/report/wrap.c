#include "common/report/wrap.h"

#include <string.h>

void wrap_words(struct buf *to, const char *text, size_t column, size_t width)
{
	size_t at = column;

	while (*text) {
		size_t n = strcspn(text, " ");

		if (at > column && at + 1 + n > width) {
			buf_printf(to, "\n%*s", (int)column, "");
			at = column;
		} else if (at > column) {
			buf_add_char(to, ' ');
			at++;
		}
		buf_add(to, text, n);
		at += n;
		text += n + strspn(text + n, " ");
	}
	buf_add_char(to, '\n');
}
