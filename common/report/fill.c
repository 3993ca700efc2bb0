#include "common/report/fill.h"

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

/* Length of the UTF-8 sequence t starts with; 0 if ill-formed (RFC 3629) or a C1 control. */
static size_t utf8_length(struct text t)
{
	const unsigned char *c = (const unsigned char *)t.data;
	size_t len = c[0] < 0xc2 || c[0] > 0xf4 ? 0 : c[0] < 0xe0 ? 2 : c[0] < 0xf0 ? 3 : 4;

	if (t.len < len)
		return 0;
	for (size_t i = 1; i < len; i++)
		if ((c[i] & 0xc0) != 0x80)
			return 0;
	bool is_control = c[0] == 0xc2 && c[1] < 0xa0;
	bool is_overlong = (c[0] == 0xe0 && c[1] < 0xa0) || (c[0] == 0xf0 && c[1] < 0x90);
	bool is_outside = (c[0] == 0xed && c[1] > 0x9f) || (c[0] == 0xf4 && c[1] > 0x8f);

	return is_control || is_overlong || is_outside ? 0 : len;
}

void fill_utf8(struct fill *f, struct scan *s)
{
	size_t len = utf8_length(scan_rest(s));

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
