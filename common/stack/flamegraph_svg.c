/* A picture as SVG. What a viewer without script needs is here; flamegraph.js does the rest. */
#include <errno.h>

#include "common/base/fail.h"
#include "common/base/utf8.h"
#include "common/stack/flamegraph_impl.h"

#define WRITE_BYTES (256u << 10)       /* handed to stdio at a time */
#define ROW 16                         /* pixels, one of them between rows */
#define CHARACTER 7.3                  /* width of one at font-size 12, monospace */
#define LABEL_LEAST 3                  /* characters; frames with room for less have no label */
#define MARGIN 0.8                     /* percent, left and right of the frames */
#define RATIO_MAX 10000                /* a frame that grew more than that much says so */
#define BAR 46                         /* height that the script's controls get */

/* ---- text ---- */

/* What XML has no character for. */
static bool is_forbidden(uint32_t code)
{
	return code == 0xfffe || code == 0xffff;
}

static void add_escaped(struct buf *to, const char *s, size_t len)
{
	const unsigned char c = (unsigned char)*s;
	uint32_t code;

	switch (c) {
	case '<': buf_add_text(to, "&lt;"); return;
	case '>': buf_add_text(to, "&gt;"); return;
	case '&': buf_add_text(to, "&amp;"); return;
	case '"': buf_add_text(to, "&quot;"); return;
	case '\'': buf_add_text(to, "&apos;"); return;
	}
	if (c < ' ' || c == 0x7f)
		buf_printf(to, "\\x%02x", c);
	else if (!utf8_decode(s, len, &code) || is_forbidden(code))
		buf_add_text(to, "\xef\xbf\xbd");
	else
		buf_add(to, s, len);
}

static bool is_plain(char c)
{
	return c >= ' ' && c < 0x7f && c != '<' && c != '>' && c != '&' && c != '"' && c != '\'';
}

/* Bytes of the character at s: one, if it is none. */
static size_t character(const char *s, size_t left, uint32_t *code)
{
	const size_t len = utf8_decode(s, left, code);

	if (len)
		return len;
	*code = 0xfffd;
	return 1;
}

static void add_xml(struct buf *to, struct text t)
{
	size_t from = 0;
	uint32_t code;

	for (size_t i = 0, len; i < t.len; i += len, from = i) {
		while (i < t.len && is_plain(t.data[i]))
			i++;
		buf_add(to, t.data + from, i - from);
		if (i == t.len)
			return;
		len = character(t.data + i, t.len - i, &code);
		add_escaped(to, t.data + i, len);
	}
}

/* Cells of a monospace font, as flamegraph.js counts them. */
static unsigned cells_of(uint32_t code)
{
	return code < ' ' || code == 0x7f ? 4 : code < 0x1100 ? 1 : 2;
}

/* Bytes of the longest start that takes at most `cells`. */
static size_t fitting(struct text t, size_t cells)
{
	size_t at = 0;

	while (at < t.len) {
		uint32_t code;
		const size_t len = character(t.data + at, t.len - at, &code);

		if (cells_of(code) > cells)
			break;
		cells -= cells_of(code);
		at += len;
	}
	return at;
}

/* Cut to bytes that end where a character does. */
static struct text cut_name(struct text name)
{
	if (name.len <= FLAMEGRAPH_NAME_MAX)
		return name;
	name.len = FLAMEGRAPH_NAME_MAX;
	while (name.len && ((unsigned char)name.data[name.len] & 0xc0) == 0x80 &&
	       name.len > FLAMEGRAPH_NAME_MAX - 4)
		name.len--;
	return name;
}

static struct text name_of(const struct picture *p, uint32_t node)
{
	char kind;

	return node == FOLD_ROOT ? TEXT("all") : flamegraph_name(fold_text(p->fold, node), &kind);
}

static void add_name(struct buf *to, struct text name)
{
	const struct text cut = cut_name(name);

	add_xml(to, cut);
	if (cut.len < name.len)
		buf_add_text(to, "..");
}

/* ---- numbers ---- */

static void add_number(struct buf *to, uint64_t n)
{
	char digits[20];
	size_t at = sizeof(digits);

	do
		digits[--at] = (char)('0' + n % 10);
	while (n /= 10);
	buf_add(to, digits + at, sizeof(digits) - at);
}

/* 1,234,567 */
static void add_count(struct buf *to, uint64_t n)
{
	char digits[27];
	size_t at = sizeof(digits);

	for (unsigned i = 0; i == 0 || n; i++, n /= 10) {
		if (i && i % 3 == 0)
			digits[--at] = ',';
		digits[--at] = (char)('0' + n % 10);
	}
	buf_add(to, digits + at, sizeof(digits) - at);
}

/* A place in the width, in millionths of a percent. */
static uint64_t place_of(const struct picture *p, uint64_t weight)
{
	const uint64_t whole = picture_whole(p);

	return whole ? (uint64_t)((double)weight / (double)whole * 1e8 + 0.5) : 0;
}

/* Millionths of a percent: "12.5". */
static void add_place(struct buf *to, uint64_t place)
{
	char digits[7] = ".";
	size_t len = 7;
	uint64_t part = place % 1000000;

	add_number(to, place / 1000000);
	if (!part)
		return;
	for (size_t i = 6; i > 0; i--, part /= 10)
		digits[i] = (char)('0' + part % 10);
	while (digits[len - 1] == '0')
		len--;
	buf_add(to, digits, len);
}

/* A share as a percentage, two decimals. */
static void add_percent(struct buf *to, double share)
{
	const uint64_t hundredths = (uint64_t)(share * 10000 + 0.5);
	const char decimals[] = { '.', (char)('0' + hundredths / 10 % 10),
				  (char)('0' + hundredths % 10), '%' };

	add_number(to, hundredths / 100);
	buf_add(to, decimals, sizeof(decimals));
}

/* ---- what a frame says of itself ---- */

static void add_change(struct buf *to, const struct picture *p, uint32_t node)
{
	const double before = picture_share(p, node, 0), after = picture_share(p, node, 1);
	const bool is_less = after < before;
	const double change = is_less ? before - after : after - before;

	buf_add_text(to, "; before ");
	add_count(to, p->inclusive[0][node]);
	buf_add_text(to, ", ");
	add_percent(to, before);
	if (!p->inclusive[0][node] || !p->inclusive[1][node]) {
		buf_add_text(to, p->inclusive[0][node] ? "; gone" : "; new");
		return;
	}
	buf_add_text(to, is_less ? "; -" : "; +");
	add_percent(to, change);
	buf_add_text(to, is_less ? " of all, -" : " of all, +");
	if (change / before > RATIO_MAX)
		buf_printf(to, "%u%% and more", RATIO_MAX * 100);
	else
		add_percent(to, change / before);
	buf_add_text(to, " of its own");
}

/* " (12 samples, 1.20%)": the last " (" of a title is this one's, whatever the name holds. */
static void add_weight(struct buf *to, const struct picture *p, uint32_t node)
{
	const bool is_difference = p->options->sides == FLAMEGRAPH_DIFFERENCE;

	buf_add_text(to, is_difference ? " (after " : " (");
	add_count(to, is_difference ? p->inclusive[1][node] : p->width[node]);
	buf_add_char(to, ' ');
	add_xml(to, text_of(picture_unit(p)));
	buf_add_text(to, ", ");
	if (is_difference) {
		add_percent(to, picture_share(p, node, 1));
		add_change(to, p, node);
	} else {
		add_percent(to, (double)p->width[node] / (double)picture_whole(p));
	}
	if (p->options->sides == FLAMEGRAPH_HOT_COLD) {
		buf_add_text(to, "; on the CPU ");
		add_count(to, p->inclusive[0][node]);
		buf_add_text(to, ", off ");
		add_count(to, p->inclusive[1][node]);
	}
	buf_add_char(to, ')');
}

/* ---- frames ---- */

static int flush(struct buf *out, FILE *to)
{
	if (out->len && fwrite(out->data, 1, out->len, to) != out->len)
		return fail_errno(errno ? errno : EIO, "writing a flame graph");
	buf_reset(out);
	return 0;
}

static unsigned row_of(const struct picture *p, const struct box *b)
{
	return p->options->is_icicle ? b->depth : p->depth - b->depth;
}

static void add_frame(struct buf *to, const struct picture *p, const struct box *b)
{
	const uint64_t from = place_of(p, b->at), until = place_of(p, b->at + b->width);

	buf_add_text(to, "<rect class=\"c");
	add_number(to, b->colour);
	buf_add_text(to, "\" x=\"");
	add_place(to, from);
	buf_add_text(to, "%\" y=\"");
	add_number(to, row_of(p, b) * ROW);
	buf_add_text(to, "\" width=\"");
	add_place(to, until - from);
	buf_add_text(to, "%\" height=\"15\"><title>");
	add_name(to, name_of(p, b->node));
	add_weight(to, p, b->node);
	buf_add_text(to, "</title></rect>\n");
}

/* The name on a frame, as much as there is room for at the nominal width. */
static void add_label(struct buf *to, const struct picture *p, const struct box *b)
{
	const unsigned width = p->options->width ? p->options->width : FLAMEGRAPH_WIDTH;
	const double pixels = (double)b->width / (double)picture_whole(p) * width *
			      (1 - 2 * MARGIN / 100) - 6;

	if (pixels < LABEL_LEAST * CHARACTER)
		return;
	const struct text name = cut_name(name_of(p, b->node));
	const size_t cells = (size_t)(pixels / CHARACTER);
	const bool fits = fitting(name, cells) == name.len;

	buf_add_text(to, "<text x=\"");
	add_place(to, place_of(p, b->at));
	buf_add_text(to, "%\" y=\"");
	add_number(to, row_of(p, b) * ROW + 11);
	buf_add_text(to, "\" dx=\"3\">");
	add_xml(to, fits ? name : (struct text){ name.data, fitting(name, cells - 2) });
	buf_add_text(to, fits ? "</text>\n" : "..</text>\n");
}

static int write_frames(struct buf *out, const struct picture *p, FILE *to)
{
	int err = 0;

	buf_add_text(out, "<g class=\"boxes\">\n");
	for (uint32_t i = 0; i < p->count && err >= 0; i++) {
		add_frame(out, p, &p->boxes[i]);
		if (out->len > WRITE_BYTES)
			err = flush(out, to);
	}
	buf_add_text(out, "</g>\n<g class=\"labels\">\n");
	for (uint32_t i = 0; i < p->count && err >= 0; i++) {
		add_label(out, p, &p->boxes[i]);
		if (out->len > WRITE_BYTES)
			err = flush(out, to);
	}
	buf_add_text(out, "</g>\n");
	return err;
}

/* ---- what stands above them ---- */

static const char *title_of(const struct flamegraph *o)
{
	if (o->title)
		return o->title;
	if (o->sides == FLAMEGRAPH_DIFFERENCE)
		return o->is_negated ? "Differential flame graph, by the weights before" :
			"Differential flame graph";
	if (o->sides == FLAMEGRAPH_HOT_COLD)
		return "Hot/cold flame graph";
	return o->is_icicle ? "Icicle graph" : "Flame graph";
}

static void add_total(struct buf *to, const struct picture *p)
{
	const char *const names[2] = {
		p->options->sides == FLAMEGRAPH_DIFFERENCE ? "before " :
		p->options->sides == FLAMEGRAPH_HOT_COLD ? "on the CPU " : "",
		p->options->sides == FLAMEGRAPH_DIFFERENCE ? ", after " : ", off the CPU ",
	};

	for (unsigned side = 0; side < (p->options->sides == FLAMEGRAPH_ONE ? 1 : 2); side++) {
		buf_add_text(to, names[side]);
		add_count(to, p->total[side]);
		buf_add_char(to, ' ');
		add_xml(to, text_of(picture_unit(p)));
	}
}

static void add_frames(struct buf *to, const char *before, uint64_t count)
{
	buf_add_text(to, before);
	add_count(to, count);
	buf_add_text(to, count == 1 ? " frame" : " frames");
}

/* Totals, and what is not in the picture. */
static void add_facts(struct buf *to, const struct picture *p)
{
	const struct flamegraph_result *r = &p->result;

	add_total(to, p);
	if (r->dropped) {
		add_frames(to, "; not drawn: ", r->dropped);
		buf_printf(to, " below %.2g px (", r->min_width);
		add_count(to, p->least);
		buf_add_char(to, ' ');
		add_xml(to, text_of(picture_unit(p)));
		buf_add_char(to, ')');
	}
	if (r->too_deep) {
		add_frames(to, "; not drawn: ", r->too_deep);
		buf_printf(to, " more than %u deep", FLAMEGRAPH_DEPTH_MAX);
	}
	if (r->gone) {
		add_frames(to, "; ", r->gone);
		buf_add_text(to, p->options->is_negated ? " only after: no width here" :
			     " only before: no width here");
	}
}

static void add_line(struct buf *to, const char *class, unsigned y, struct text t)
{
	buf_printf(to, "<text class=\"%s\" x=\"50%%\" y=\"%u\">", class, y);
	add_xml(to, t);
	buf_add_text(to, "</text>\n");
}

static void add_legend(struct buf *to, const struct picture *p, unsigned y)
{
	struct flamegraph_meaning legend[FLAMEGRAPH_GROUPS];
	const size_t count = flamegraph_legend(p, legend);
	unsigned x = 0;

	buf_printf(to, "<svg class=\"legend\" x=\"%.1f%%\" y=\"%u\" height=\"16\">\n", MARGIN, y);
	for (size_t i = 0; i < count; i++) {
		buf_printf(to, "<rect class=\"c%u\" x=\"%u\" y=\"2\" width=\"12\" height=\"12\"/>"
			   "<text x=\"%u\" y=\"12\">%s</text>\n", legend[i].colour, x, x + 16,
			   legend[i].text);
		x += 40 + (unsigned)(CHARACTER * (double)strlen(legend[i].text));
	}
	buf_add_text(to, "</svg>\n");
}

/* Returns where it ends. */
static unsigned add_header(struct buf *to, const struct picture *p)
{
	const struct flamegraph *o = p->options;
	struct flamegraph_meaning legend[FLAMEGRAPH_GROUPS];
	unsigned y = 24;

	add_line(to, "title", y, text_of(title_of(o)));
	if (o->subtitle)
		add_line(to, "subtitle", y += 20, text_of(o->subtitle));
	buf_printf(to, "<text class=\"facts\" x=\"50%%\" y=\"%u\">", y += 19);
	add_facts(to, p);
	buf_add_text(to, "</text>\n");
	if (!picture_whole(p))
		add_line(to, "facts", y += 16, TEXT("There is no weight to draw."));
	y += 8;
	if (flamegraph_legend(p, legend)) {
		add_legend(to, p, y);
		y += 20;
	}
	buf_printf(to, "<g class=\"bar\" data-y=\"%u\"></g>\n", y);
	return y + BAR;
}

static void add_start(struct buf *to, const struct picture *p, unsigned height)
{
	buf_add_text(to, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		     "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"flamegraph\" "
		     "version=\"1.1\" width=\"");
	if (p->options->width)
		buf_printf(to, "%u", p->options->width);
	else
		buf_add_text(to, "100%");
	buf_printf(to, "\" height=\"%u\">\n<title>", height);
	add_xml(to, text_of(title_of(p->options)));
	buf_add_text(to, "</title>\n<style><![CDATA[\n");
	buf_add(to, flamegraph_css().data, flamegraph_css().len);
	flamegraph_style(p, to);
	buf_add_text(to, "]]></style>\n<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n");
}

int flamegraph_draw(const struct picture *p, FILE *to)
{
	struct buf out = { 0 }, header = { 0 };
	const unsigned y = add_header(&header, p), rows = (p->depth + 1) * ROW;

	add_start(&out, p, y + rows + 10);
	buf_add(&out, header.data, header.len);
	buf_free(&header);
	buf_printf(&out, "<svg class=\"frames%s\" x=\"%.1f%%\" y=\"%u\" width=\"%.1f%%\" "
		   "height=\"%u\">\n", p->options->is_icicle ? " icicle" : "", MARGIN, y,
		   100 - 2 * MARGIN, rows);
	int err = picture_whole(p) ? write_frames(&out, p, to) : 0;

	buf_add_text(&out, "</svg>\n<script><![CDATA[\n");
	buf_add(&out, flamegraph_js().data, flamegraph_js().len);
	buf_add_text(&out, "]]></script>\n</svg>\n");
	if (err >= 0)
		err = flush(&out, to);
	buf_free(&out);
	return err;
}
