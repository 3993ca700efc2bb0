/*
 * Words in three fonts, filled into lines of a given width behind an indent. Fonts travel inside
 * the text: a word is bytes with FONT_* marks between them, and only printing a line turns marks
 * into SGR sequences or drops them. Every character counts as one column.
 */
#ifndef REPORT_FILL_H
#define REPORT_FILL_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/buf.h"
#include "common/base/scan.h"

enum fill_mark { FONT_ROMAN = 1, FONT_BOLD, FONT_ITALIC, FIXED_SPACE };

struct fill {
	struct buf *to;
	size_t width;
	bool has_sgr;                  /* bold is SGR 1, italic SGR 4; else marks are dropped */
	size_t indent;                 /* where the next line starts */
	bool is_whole;                 /* blanks do not end a word: no line breaks until told */
	enum fill_mark font, font_before;

	struct buf word, line;
	size_t word_width, line_width, line_indent;
	size_t pad;                    /* columns due before the next word; 0: as between words */
	bool is_blank_due, has_lines;
	bool is_below_heading;         /* set by the caller: no blank line before the next */
};

void fill_char(struct fill *f, char c);            /* printable ASCII or FIXED_SPACE */
void fill_string(struct fill *f, const char *s);   /* the same; its spaces do not break */
void fill_utf8(struct fill *f, struct scan *s);    /* a character off s; '?' if it is none */
void fill_blank(struct fill *f, char blank);       /* a space or a tab */
void fill_font(struct fill *f, enum fill_mark font);       /* of what follows */
void fill_end_word(struct fill *f);
void fill_break(struct fill *f);                   /* the rest goes to a new line */
void fill_blank_line(struct fill *f);              /* and a blank one before it, never two */
void fill_free(struct fill *f);                    /* all but to */

#endif
