#include "common/report/roff.h"

#include <stdint.h>

#include "common/base/scan.h"
#include "common/report/fill.h"

#define MARGIN 7                       /* of text below .SH; default indent of .TP and .RS */
#define SUBSECTION_MARGIN 3
#define NESTING_MAX 16                 /* of .RS */
#define ARGS_MAX 32                    /* of one macro; more are left out */

struct roff {
	struct scan in;
	struct fill fill;

	bool is_filling;
	bool is_joined;                /* \c: the next input line goes on where this one ended */
	enum fill_mark next_font;      /* .B without arguments: of the next line; 0: none */
	bool is_heading_next;          /* .SH without arguments */
	size_t heading_margin;
	bool is_tag_next;              /* .TP: the next line of text is the tag */

	size_t margin;                 /* of paragraphs: .SH's and .RS's */
	size_t indent;                 /* what .TP, .IP and .RS without a number use */
	size_t outer[NESTING_MAX];     /* margins .RE goes back to */
	unsigned depth;
	bool has_distance;             /* .PD 0 turns off the blank line between paragraphs */

	struct buf args;
	struct text arg[ARGS_MAX];     /* of the macro being done, in args */
	unsigned arg_count;
	struct buf title;              /* NAME(8) */
	struct buf footer, date, manual;   /* what .TH says beside it */
};

/* In ASCII: a host in trouble may have no locale at all. groff_char(7). */
static const char *special_char(struct text name)
{
	static const struct { const char *name, *ascii; } known[] = {
		{ "bu", "*" }, { "em", "--" }, { "en", "-" }, { "hy", "-" }, { "mi", "-" },
		{ "lq", "\"" }, { "rq", "\"" }, { "dq", "\"" }, { "oq", "'" }, { "cq", "'" },
		{ "aq", "'" }, { "ga", "`" }, { "ha", "^" }, { "ti", "~" }, { "rs", "\\" },
		{ "at", "@" }, { "sh", "#" }, { "Do", "$" }, { "ba", "|" }, { "or", "|" },
		{ "lB", "[" }, { "rB", "]" }, { "lC", "{" }, { "rC", "}" }, { "sl", "/" },
		{ "co", "(C)" }, { "rg", "(R)" }, { "tm", "(TM)" }, { "->", "->" }, { "<-", "<-" },
		{ "<=", "<=" }, { ">=", ">=" }, { "!=", "!=" }, { "~=", "~=" }, { "~~", "~" },
		{ "+-", "+-" }, { "mu", "x" }, { "mc", "u" }, { "de", "deg" }, { "12", "1/2" },
		{ "14", "1/4" }, { "34", "3/4" }, { "pl", "+" }, { "eq", "=" }, { "ul", "_" },
		{ "la", "<" }, { "ra", ">" }, { "R", "(R)" }, { "Tm", "(TM)" },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (text_is(name, known[i].name))
			return known[i].ascii;
	return "?";
}

/* What follows \f, \(, \*, \n: x, (xx or [long]. */
static struct text escape_name(struct scan *s)
{
	struct text name = { s->at, 0 };
	size_t left = (size_t)(s->end - s->at);

	if (left && *s->at == '[') {
		s->at++;
		if (!scan_until(s, ']', &name))
			name = scan_rest(s), s->at = s->end;
		return name;
	}
	size_t skip = left && *s->at == '(' ? 1 : 0;

	name.data += skip;
	name.len = skip ? 2 : 1;
	if (left < skip + name.len)
		name.len = left - skip;
	s->at = name.data + name.len;
	return name;
}

/* \h'...' and the like: the delimited argument means nothing on a character grid. */
static void skip_delimited(struct scan *s)
{
	struct text unused;

	if (s->at == s->end)
		return;
	char delimiter = *s->at++;

	if (!scan_until(s, delimiter, &unused))
		s->at = s->end;
}

/* \s0, \s+1, \s-1, \s(10, \s[10] */
static void skip_size(struct scan *s)
{
	if (s->at < s->end && (*s->at == '+' || *s->at == '-'))
		s->at++;
	escape_name(s);
}

/* B, I, R, P and their numbers; CW, CR and the like are roman here, CB bold, CI italic. */
static void set_named_font(struct roff *r, struct text name)
{
	char c = name.len ? name.data[name.len - 1] : 'P';

	if (c == 'P')
		fill_font(&r->fill, r->fill.font_before);
	else if (c == 'B' || c == '3')
		fill_font(&r->fill, FONT_BOLD);
	else if (c == 'I' || c == '2')
		fill_font(&r->fill, FONT_ITALIC);
	else
		fill_font(&r->fill, FONT_ROMAN);
}

/* One escape, the backslash already consumed. */
static void add_escape(struct roff *r, struct scan *s)
{
	if (s->at == s->end)
		return;
	char c = *s->at++;

	switch (c) {
	case '&': case '%': case ':': case '/': case ',': case ')': case '|': case '^': case '{':
	case '}': case 'u': case 'd': case 'r': case 't': case 'p':
		break;
	case 'c':
		r->is_joined = true;
		break;
	case 'e': case '\\':
		fill_char(&r->fill, '\\');
		break;
	case ' ': case '~': case '0':
		fill_char(&r->fill, FIXED_SPACE);
		break;
	case 'f':
		set_named_font(r, escape_name(s));
		break;
	case '(': case '[':
		s->at--;
		__attribute__((fallthrough));
	case '*':
		fill_string(&r->fill, special_char(escape_name(s)));
		break;
	case 'n': case 'm': case 'M': case 'F': case 'g': case 'k': case 'Y': case 'V':
		escape_name(s);
		break;
	case 's':
		skip_size(s);
		break;
	case 'h': case 'v': case 'w': case 'l': case 'L': case 'o': case 'b': case 'D': case 'X':
	case 'Z': case 'A': case 'B': case 'C': case 'H': case 'N': case 'R': case 'S': case 'x':
		skip_delimited(s);
		break;
	default:
		if (c > ' ' && c < 0x7f)
			fill_char(&r->fill, c);
	}
}

static void add_text(struct roff *r, struct text t)
{
	struct scan s = scan_of(t);

	while (s.at < s.end) {
		unsigned char c = (unsigned char)*s.at;

		if (c >= 0x80) {
			fill_utf8(&r->fill, &s);
			continue;
		}
		s.at++;
		if (c == '\\')
			add_escape(r, &s);
		else if (c == ' ' || c == '\t')
			fill_blank(&r->fill, (char)c);
		else if (c > ' ' && c < 0x7f)
			fill_char(&r->fill, (char)c);
	}
}

/* Macros. */

static void set_filling(struct roff *r, bool is_filling, bool is_tag_next)
{
	r->is_filling = is_filling;
	r->is_tag_next = is_tag_next;
	r->fill.is_whole = !is_filling || is_tag_next;
}

static void set_hang(struct roff *r, size_t hang)
{
	r->fill.indent = r->margin + hang;
}

/* The rest of a macro line as arguments: "two words", a ""quote"" inside, \ before a blank. */
static void parse_args(struct roff *r, struct scan *s)
{
	size_t starts[ARGS_MAX + 1];

	buf_reset(&r->args);
	buf_reserve(&r->args, 0);
	r->arg_count = 0;
	for (scan_blanks(s); s->at < s->end && r->arg_count < ARGS_MAX; scan_blanks(s)) {
		bool is_quoted = *s->at == '"';

		starts[r->arg_count++] = r->args.len;
		s->at += is_quoted;
		while (s->at < s->end && (is_quoted || (*s->at != ' ' && *s->at != '\t'))) {
			if (is_quoted && *s->at == '"' && (++s->at == s->end || *s->at != '"'))
				break;
			if (*s->at == '\\' && s->end - s->at > 1)
				buf_add_char(&r->args, *s->at++);
			buf_add_char(&r->args, *s->at++);
		}
	}
	starts[r->arg_count] = r->args.len;
	for (unsigned i = 0; i < r->arg_count; i++)
		r->arg[i] = (struct text){ r->args.data + starts[i], starts[i + 1] - starts[i] };
}

/* An indent argument in columns ("4", "4n", "0.5i" as 0); fallback if there is none. */
static size_t indent_arg(const struct roff *r, unsigned at, size_t fallback)
{
	uint64_t n;

	if (at >= r->arg_count)
		return fallback;
	struct scan s = scan_of(r->arg[at]);

	if (!scan_u64(&s, &n))
		return fallback;
	return n < r->fill.width / 2 ? (size_t)n : r->fill.width / 2;
}

static void end_text_line(struct roff *r)
{
	if (!r->is_joined) {
		fill_end_word(&r->fill);
		if (!r->is_filling && !r->is_tag_next)
			fill_break(&r->fill);
	}
	r->is_joined = false;
	if (!r->is_tag_next)
		return;
	/* that was the tag: its body goes beside it if there is room, else below */
	fill_end_word(&r->fill);
	set_filling(r, r->is_filling, false);
	set_hang(r, r->indent);
	if (r->fill.line_width < r->indent)
		r->fill.pad = r->fill.line_width ? r->indent - r->fill.line_width : 0;
	else
		fill_break(&r->fill);
}

/* .B, .I, .BR ...: fonts taken in turn, arguments joined by a space if there is only one font. */
static void do_fonts(struct roff *r, enum fill_mark first, enum fill_mark second)
{
	if (!r->arg_count) {
		r->next_font = first;
		return;
	}
	for (unsigned i = 0; i < r->arg_count; i++) {
		fill_font(&r->fill, i % 2 ? second : first);
		if (i && first == second)
			fill_blank(&r->fill, ' ');
		add_text(r, r->arg[i]);
	}
	fill_font(&r->fill, FONT_ROMAN);
	r->fill.font_before = FONT_ROMAN;
	end_text_line(r);
}

/* .SH and .SS, or the line behind one without arguments. */
static void put_heading(struct roff *r, struct text t)
{
	r->is_heading_next = false;
	r->fill.indent = r->heading_margin;
	fill_font(&r->fill, FONT_BOLD);
	add_text(r, t);
	fill_font(&r->fill, FONT_ROMAN);
	r->fill.font_before = FONT_ROMAN;
	fill_break(&r->fill);
	r->fill.is_below_heading = true;
	r->is_joined = false;
	set_hang(r, 0);
}

static void start_section(struct roff *r, size_t heading_margin)
{
	struct buf heading = { 0 };

	fill_blank_line(&r->fill);
	set_filling(r, true, false);
	r->next_font = 0;
	r->has_distance = true;
	r->depth = 0;
	r->margin = r->indent = MARGIN;
	r->heading_margin = heading_margin;
	r->is_heading_next = true;
	for (unsigned i = 0; i < r->arg_count; i++) {
		if (i)
			buf_add_char(&heading, ' ');
		buf_add(&heading, r->arg[i].data, r->arg[i].len);
	}
	if (r->arg_count)
		put_heading(r, buf_text(&heading));
	buf_free(&heading);
}

/* .PP, .TP, .IP */
static void start_paragraph(struct roff *r)
{
	fill_break(&r->fill);
	if (r->has_distance)
		fill_blank_line(&r->fill);
	set_hang(r, 0);
	set_filling(r, r->is_filling, false);
}

static void do_plain_paragraph(struct roff *r)
{
	start_paragraph(r);
	r->indent = MARGIN;
}

static void do_tagged_paragraph(struct roff *r)
{
	start_paragraph(r);
	r->indent = indent_arg(r, 0, r->indent);
	set_filling(r, r->is_filling, true);
}

/* One more tag for the body that follows. */
static void do_next_tag(struct roff *r)
{
	fill_break(&r->fill);
	set_hang(r, 0);
	set_filling(r, r->is_filling, true);
}

static void do_indented_paragraph(struct roff *r)
{
	start_paragraph(r);
	r->indent = indent_arg(r, 1, r->indent);
	if (!r->arg_count || !r->arg[0].len) {
		set_hang(r, r->indent);
		return;
	}
	set_filling(r, r->is_filling, true);
	add_text(r, r->arg[0]);
	end_text_line(r);
}

static void do_indent(struct roff *r)
{
	size_t by = indent_arg(r, 0, r->indent);

	fill_break(&r->fill);
	if (r->depth == NESTING_MAX)
		return;
	r->outer[r->depth++] = r->margin;
	if (r->margin + by < r->fill.width / 2)
		r->margin += by;
	r->indent = MARGIN;
	set_hang(r, 0);
}

static void do_outdent(struct roff *r)
{
	fill_break(&r->fill);
	if (r->depth)
		r->margin = r->outer[--r->depth];
	r->indent = MARGIN;
	set_hang(r, 0);
}

static void put_title_line(struct roff *r, const struct buf *left, const struct buf *middle,
			   const struct buf *right)
{
	size_t used = left->len + middle->len + right->len;
	size_t space = used + 2 < r->fill.width ? r->fill.width - used : 2;

	if (r->fill.is_blank_due && r->fill.has_lines)
		buf_add_char(r->fill.to, '\n');
	buf_printf(r->fill.to, "%s%*s%s%*s%s\n", buf_text(left).data, (int)(space / 2), "",
		   buf_text(middle).data, (int)(space - space / 2), "", buf_text(right).data);
	r->fill.is_blank_due = true;
	r->fill.has_lines = true;
}

/* An argument of .TH as plain bytes. */
static void keep_plain(struct roff *r, unsigned at, struct buf *to)
{
	if (at >= r->arg_count)
		return;
	add_text(r, r->arg[at]);
	for (size_t i = 0; i < r->fill.word.len; i++) {
		char c = r->fill.word.data[i];

		if (c == FIXED_SPACE)
			buf_add_char(to, ' ');
		else if (c != FONT_ROMAN && c != FONT_BOLD && c != FONT_ITALIC)
			buf_add_char(to, c);
	}
	buf_reset(&r->fill.word);
	r->fill.word_width = 0;
}

/* .TH NAME SECTION DATE SOURCE MANUAL; only the first counts. */
static void do_title(struct roff *r)
{
	fill_break(&r->fill);
	if (r->title.len || !r->arg_count)
		return;
	set_filling(r, false, false);
	keep_plain(r, 0, &r->title);
	buf_add_char(&r->title, '(');
	keep_plain(r, 1, &r->title);
	buf_add_char(&r->title, ')');
	keep_plain(r, 2, &r->date);
	keep_plain(r, 3, &r->footer);
	keep_plain(r, 4, &r->manual);
	set_filling(r, true, false);
	fill_font(&r->fill, FONT_ROMAN);
	put_title_line(r, &r->title, &r->manual, &r->title);
}

/* Input up to the line `end` means nothing here (.ig, .de). */
static void skip_to(struct roff *r, const char *end)
{
	struct text line;

	while (scan_line(&r->in, &line))
		if (text_is(line, end))
			return;
}

static void do_simple(struct roff *r, struct text name)
{
	if (text_is(name, "br"))
		fill_break(&r->fill);
	else if (text_is(name, "sp"))
		fill_blank_line(&r->fill);
	else if (text_is(name, "nf") || text_is(name, "EX"))
		fill_break(&r->fill), set_filling(r, false, false);
	else if (text_is(name, "fi") || text_is(name, "EE"))
		fill_break(&r->fill), set_filling(r, true, false);
	else if (text_is(name, "RS"))
		do_indent(r);
	else if (text_is(name, "RE"))
		do_outdent(r);
	else if (text_is(name, "PD"))
		r->has_distance = indent_arg(r, 0, 1) > 0;
	else if (text_is(name, "ft"))
		set_named_font(r, r->arg_count ? r->arg[0] : TEXT("P"));
	else if (text_is(name, "ig") || text_is(name, "de"))
		skip_to(r, "..");
}

static void do_paragraph(struct roff *r, struct text name)
{
	if (text_is(name, "PP") || text_is(name, "P") || text_is(name, "LP"))
		do_plain_paragraph(r);
	else if (text_is(name, "TP"))
		do_tagged_paragraph(r);
	else if (text_is(name, "TQ"))
		do_next_tag(r);
	else if (text_is(name, "IP"))
		do_indented_paragraph(r);
	else if (text_is(name, "SH"))
		start_section(r, 0);
	else if (text_is(name, "SS"))
		start_section(r, SUBSECTION_MARGIN);
	else if (text_is(name, "TH"))
		do_title(r);
	else
		do_simple(r, name);
}

/* .B .I .BR .RB .IR .RI .BI .IB: the font macros are named by the fonts they take. */
static bool find_fonts(struct text name, enum fill_mark fonts[2])
{
	if (!name.len || name.len > 2 || text_is(name, "R") || text_is(name, "RR"))
		return false;
	for (size_t i = 0; i < 2; i++) {
		char c = name.data[i < name.len ? i : 0];

		if (c != 'B' && c != 'I' && c != 'R')
			return false;
		fonts[i] = c == 'B' ? FONT_BOLD : c == 'I' ? FONT_ITALIC : FONT_ROMAN;
	}
	return true;
}

static void do_macro(struct roff *r, struct text line)
{
	struct scan s = scan_of(line);
	struct text name;
	enum fill_mark fonts[2];

	s.at++;
	if (!scan_word(&s, &name))
		return;
	parse_args(r, &s);
	if (find_fonts(name, fonts))
		do_fonts(r, fonts[0], fonts[1]);
	else
		do_paragraph(r, name);
}

static void do_text(struct roff *r, struct text line)
{
	enum fill_mark font = r->next_font;

	if (r->is_heading_next) {
		put_heading(r, line);
		return;
	}
	r->next_font = 0;
	if (!line.len) {
		fill_blank_line(&r->fill);
		return;
	}
	if (*line.data == ' ' && r->is_filling && !r->is_tag_next) {
		fill_break(&r->fill);
		for (; line.len && *line.data == ' '; line.data++, line.len--)
			fill_char(&r->fill, FIXED_SPACE);
	}
	if (font)
		fill_font(&r->fill, font);
	add_text(r, line);
	if (font)
		fill_font(&r->fill, FONT_ROMAN);
	end_text_line(r);
}

/* A line without what a comment (\" or \#) hides; false: the whole line was one. */
static bool strip_comment(struct text *line)
{
	size_t len = line->len;

	for (size_t i = 0; i + 1 < line->len; i++) {
		if (line->data[i] != '\\')
			continue;
		if (line->data[i + 1] == '"' || line->data[i + 1] == '#') {
			line->len = i;
			break;
		}
		i++;
	}
	return line->len == len || (line->len && !text_is(*line, ".") && !text_is(*line, "'"));
}

void roff_render(struct text source, unsigned width, bool bold, struct buf *to)
{
	struct roff r = {
		.in = scan_of(source), .fill = { .to = to, .has_sgr = bold },
		.has_distance = true, .margin = MARGIN, .indent = MARGIN,
	};
	struct text line;

	r.fill.width = width < ROFF_WIDTH_MIN ? ROFF_WIDTH_MIN : width;
	if (r.fill.width > ROFF_WIDTH_MAX)
		r.fill.width = ROFF_WIDTH_MAX;
	r.fill.font = r.fill.font_before = FONT_ROMAN;
	set_filling(&r, true, false);
	set_hang(&r, 0);
	while (scan_line(&r.in, &line)) {
		if (!strip_comment(&line))
			continue;
		if (line.len && (*line.data == '.' || *line.data == '\''))
			do_macro(&r, line);
		else
			do_text(&r, line);
	}
	fill_break(&r.fill);
	r.fill.is_blank_due = true;
	if (r.title.len)
		put_title_line(&r, &r.footer, &r.date, &r.title);
	fill_free(&r.fill);
	buf_free(&r.args);
	buf_free(&r.title);
	buf_free(&r.footer);
	buf_free(&r.date);
	buf_free(&r.manual);
}
