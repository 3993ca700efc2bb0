#include "common/report/fill.h"

#include "common/report/escape.h"

static void put_marked(struct fill *f, struct text t)
{
	static const char *const sgr[] = {
		[FONT_ROMAN] = "\033[0m", [FONT_BOLD] = "\033[0;1m", [FONT_ITALIC] = "\033[0;4m",
	};
	char font = FONT_ROMAN;

	for (size_t i = 0; i < t.len; i++) {
		char c = t.data[i];

		if (c == FIXED_SPACE) {
			buf_add_char(f->to, ' ');
		} else if (c != FONT_ROMAN && c != FONT_BOLD && c != FONT_ITALIC) {
			buf_add_char(f->to, c);
		} else {
			if (f->has_sgr && c != font)
				buf_add_text(f->to, sgr[(int)c]);
			font = c;
		}
	}
	if (f->has_sgr && font != FONT_ROMAN)
		buf_add_text(f->to, sgr[FONT_ROMAN]);
}

static void put_spaces(struct buf *to, size_t n)
{
	while (n--)
		buf_add_char(to, ' ');
}

static void put_line(struct fill *f)
{
	if (f->is_blank_due && f->has_lines)
		buf_add_char(f->to, '\n');
	f->is_blank_due = false;
	f->is_below_heading = false;
	f->has_lines = true;
	put_spaces(f->to, f->line_indent);
	put_marked(f, buf_text(&f->line));
	buf_add_char(f->to, '\n');
	buf_reset(&f->line);
	f->line_width = 0;
	f->pad = 0;
}

void fill_end_word(struct fill *f)
{
	size_t gap = f->pad ? f->pad : f->line_width ? 1 : 0;

	if (!f->word_width) {
		buf_reset(&f->word);
		return;
	}
	if (!f->is_whole && f->line_width &&
	    f->line_indent + f->line_width + gap + f->word_width > f->width) {
		put_line(f);
		gap = 0;
	}
	if (!f->line_width)
		f->line_indent = f->indent;
	put_spaces(&f->line, gap);
	buf_add(&f->line, f->word.data, f->word.len);
	f->line_width += gap + f->word_width;
	f->pad = 0;
	buf_reset(&f->word);
	f->word_width = 0;
}

void fill_break(struct fill *f)
{
	fill_end_word(f);
	if (f->line_width)
		put_line(f);
}

void fill_blank_line(struct fill *f)
{
	fill_break(f);
	f->is_blank_due = !f->is_below_heading;
}

void fill_char(struct fill *f, char c)
{
	if (!f->word.len)
		buf_add_char(&f->word, (char)f->font);
	buf_add_char(&f->word, c);
	f->word_width++;
}

void fill_string(struct fill *f, const char *s)
{
	for (; *s; s++)
		fill_char(f, *s == ' ' ? FIXED_SPACE : *s);
}

void fill_font(struct fill *f, enum fill_mark font)
{
	f->font_before = f->font;
	f->font = font;
	if (f->word.len)
		buf_add_char(&f->word, (char)font);
}

/* C1 controls are well formed but would still steer a terminal. */
void fill_utf8(struct fill *f, struct scan *s)
{
	uint32_t code;
	size_t len = utf8_decode(s->at, (size_t)(s->end - s->at), &code);

	if (len && code < 0xa0)
		len = 0;
	fill_char(f, len ? *s->at : '?');
	if (len)
		buf_add(&f->word, s->at + 1, len - 1);
	s->at += len ? len : 1;
}

void fill_blank(struct fill *f, char blank)
{
	if (!f->is_whole) {
		fill_end_word(f);
		return;
	}
	do
		fill_char(f, FIXED_SPACE);
	while (blank == '\t' && (f->line_width + f->word_width) % 8);
}

void fill_free(struct fill *f)
{
	buf_free(&f->word);
	buf_free(&f->line);
}
