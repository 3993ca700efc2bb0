/* Escaping and measuring of text for each output format. */
#include "common/report/escape.h"

struct range {
	uint32_t first, last;
};

/* Shown to people only as an escape: they steer the terminal, reorder the line or can't be seen. */
static const struct range hidden[] = {
	{ 0x0000, 0x001f }, { 0x007f, 0x009f }, { 0x061c, 0x061c }, { 0x180e, 0x180e },
	{ 0x200b, 0x200b }, { 0x200e, 0x200f }, { 0x2028, 0x202e }, { 0x2060, 0x206f },
	{ 0xfeff, 0xfeff }, { 0xfff9, 0xfffb }, { 0xe0000, 0xe007f },
};

/* Two cells: East Asian wide and full width, and pictures (the blocks, not each character). */
static const struct range wide[] = {
	{ 0x1100, 0x115f }, { 0x231a, 0x231b }, { 0x2329, 0x232a }, { 0x23e9, 0x23ec },
	{ 0x23f0, 0x23f0 }, { 0x23f3, 0x23f3 }, { 0x25fd, 0x25fe }, { 0x2614, 0x2615 },
	{ 0x2648, 0x2653 }, { 0x267f, 0x267f }, { 0x2693, 0x2693 }, { 0x26a1, 0x26a1 },
	{ 0x26aa, 0x26ab }, { 0x26bd, 0x26be }, { 0x26c4, 0x26c5 }, { 0x26ce, 0x26ce },
	{ 0x26d4, 0x26d4 }, { 0x26ea, 0x26ea }, { 0x26f2, 0x26f3 }, { 0x26f5, 0x26f5 },
	{ 0x26fa, 0x26fa }, { 0x26fd, 0x26fd }, { 0x2705, 0x2705 }, { 0x270a, 0x270b },
	{ 0x2728, 0x2728 }, { 0x274c, 0x274c }, { 0x274e, 0x274e }, { 0x2753, 0x2755 },
	{ 0x2757, 0x2757 }, { 0x2795, 0x2797 }, { 0x27b0, 0x27b0 }, { 0x27bf, 0x27bf },
	{ 0x2b1b, 0x2b1c }, { 0x2b50, 0x2b50 }, { 0x2b55, 0x2b55 }, { 0x2e80, 0x3029 },
	{ 0x302e, 0x303e }, { 0x3041, 0x3098 }, { 0x309b, 0x4dbf }, { 0x4e00, 0xa4cf },
	{ 0xa960, 0xa97c }, { 0xac00, 0xd7a3 }, { 0xf900, 0xfaff }, { 0xfe10, 0xfe19 },
	{ 0xfe30, 0xfe6b }, { 0xff01, 0xff60 }, { 0xffe0, 0xffe6 }, { 0x16fe0, 0x18cff },
	{ 0x1b000, 0x1b2ff }, { 0x1f004, 0x1f004 }, { 0x1f0cf, 0x1f0cf }, { 0x1f18e, 0x1f18e },
	{ 0x1f191, 0x1f19a }, { 0x1f200, 0x1f320 }, { 0x1f32d, 0x1f335 }, { 0x1f337, 0x1f37c },
	{ 0x1f37e, 0x1f393 }, { 0x1f3a0, 0x1f3ca }, { 0x1f3cf, 0x1f3d3 }, { 0x1f3e0, 0x1f3f0 },
	{ 0x1f3f4, 0x1f3f4 }, { 0x1f3f8, 0x1f43e }, { 0x1f440, 0x1f440 }, { 0x1f442, 0x1f4fc },
	{ 0x1f4ff, 0x1f53d }, { 0x1f54b, 0x1f54e }, { 0x1f550, 0x1f567 }, { 0x1f5fb, 0x1f64f },
	{ 0x1f680, 0x1f6c5 }, { 0x1f6d0, 0x1f6d2 }, { 0x1f6eb, 0x1f6ec }, { 0x1f6f4, 0x1f6fc },
	{ 0x1f7e0, 0x1f7eb }, { 0x1f90c, 0x1f9ff }, { 0x1fa70, 0x1faff }, { 0x20000, 0x3fffd },
};

/* No cell of their own: combining marks of the common scripts, joiners, variation selectors. */
static const struct range combining[] = {
	{ 0x0300, 0x036f }, { 0x0483, 0x0489 }, { 0x0591, 0x05bd }, { 0x05bf, 0x05bf },
	{ 0x05c1, 0x05c2 }, { 0x05c4, 0x05c5 }, { 0x05c7, 0x05c7 }, { 0x0610, 0x061a },
	{ 0x064b, 0x065f }, { 0x0670, 0x0670 }, { 0x06d6, 0x06dc }, { 0x06df, 0x06e4 },
	{ 0x06e7, 0x06e8 }, { 0x06ea, 0x06ed }, { 0x0900, 0x0902 }, { 0x093a, 0x093a },
	{ 0x093c, 0x093c }, { 0x0941, 0x0948 }, { 0x094d, 0x094d }, { 0x0e31, 0x0e31 },
	{ 0x0e34, 0x0e3a }, { 0x0e47, 0x0e4e }, { 0x1ab0, 0x1aff }, { 0x1dc0, 0x1dff },
	{ 0x200c, 0x200d }, { 0x20d0, 0x20f0 }, { 0x302a, 0x302d }, { 0x3099, 0x309a },
	{ 0xfe00, 0xfe0f }, { 0xfe20, 0xfe2f }, { 0xe0100, 0xe01ef },
};

#define IN(ranges, code) is_in(ranges, sizeof(ranges) / sizeof((ranges)[0]), code)

static bool is_in(const struct range *ranges, size_t count, uint32_t code)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (code > ranges[middle].last)
			low = middle + 1;
		else
			high = middle;
	}
	return low < count && code >= ranges[low].first;
}

static bool is_plain(char c)
{
	return c >= 0x20 && c < 0x7f;
}

static void add_hex_bytes(struct buf *to, const char *s, size_t len)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)s[i];
		char text[4] = { '\\', 'x', digits[c >> 4], digits[c & 15] };

		buf_add(to, text, sizeof(text));
	}
}

/* Most names are plain ASCII: bytes up to the first that needs a look. */
static size_t plain_run(struct text t, size_t at, const char *stops)
{
	size_t i = at;

	while (i < t.len && is_plain(t.data[i]) && !strchr(stops, t.data[i]))
		i++;
	return i - at;
}

void escape_people(struct buf *to, struct text name)
{
	for (size_t i = 0; i < name.len;) {
		size_t run = plain_run(name, i, "");
		uint32_t code;

		if (run) {
			buf_add(to, name.data + i, run);
			i += run;
			continue;
		}
		size_t n = utf8_decode(name.data + i, name.len - i, &code);

		if (!n || IN(hidden, code))
			add_hex_bytes(to, name.data + i, n ? n : 1);
		else
			buf_add(to, name.data + i, n);
		i += n ? n : 1;
	}
}

void escape_tsv(struct buf *to, struct text name, char also)
{
	const char stops[] = { '\\', also, '\0' };

	for (size_t i = 0; i < name.len; i++) {
		size_t run = plain_run(name, i, stops);

		buf_add(to, name.data + i, run);
		i += run;
		if (i == name.len)
			break;
		char c = name.data[i];

		if (c == '\t')
			buf_add_text(to, "\\t");
		else if (c == '\n')
			buf_add_text(to, "\\n");
		else if (c == '\r')
			buf_add_text(to, "\\r");
		else if (c == '\\')
			buf_add_text(to, "\\\\");
		else if ((unsigned char)c < 0x20 || c == 0x7f || (also && c == also))
			add_hex_bytes(to, &c, 1);
		else
			buf_add_char(to, c);
	}
}

static void add_json_code(struct buf *to, uint32_t code)
{
	if (code > 0xffff)
		buf_printf(to, "\\u%04x\\u%04x", 0xd800 + ((code - 0x10000) >> 10),
			   0xdc00 + ((code - 0x10000) & 0x3ff));
	else
		buf_printf(to, "\\u%04x", code);
}

void escape_json(struct buf *to, struct text name)
{
	buf_add_char(to, '"');
	for (size_t i = 0; i < name.len;) {
		size_t run = plain_run(name, i, "\"\\");
		uint32_t code;

		if (run) {
			buf_add(to, name.data + i, run);
			i += run;
			continue;
		}
		size_t n = utf8_decode(name.data + i, name.len - i, &code);

		if (!n) {
			buf_add_text(to, "\xef\xbf\xbd");
		} else if (code == '"' || code == '\\') {
			buf_add_char(to, '\\');
			buf_add_char(to, (char)code);
		} else if (code == '\n') {
			buf_add_text(to, "\\n");
		} else if (IN(hidden, code)) {
			add_json_code(to, code);
		} else {
			buf_add(to, name.data + i, n);
		}
		i += n ? n : 1;
	}
	buf_add_char(to, '"');
}

void escape_label(struct buf *to, struct text name)
{
	for (size_t i = 0; i < name.len;) {
		uint32_t code;
		size_t n = utf8_decode(name.data + i, name.len - i, &code);

		if (!n) {
			buf_add_text(to, "\xef\xbf\xbd");
		} else if (code == '\n') {
			buf_add_text(to, "\\n");
		} else if (code == '"' || code == '\\') {
			buf_add_char(to, '\\');
			buf_add_char(to, (char)code);
		} else if (IN(hidden, code)) {
			for (size_t k = 0; k < n; k++) {
				buf_add_char(to, '\\');   /* a backslash has to be escaped itself */
				add_hex_bytes(to, name.data + i + k, 1);
			}
		} else {
			buf_add(to, name.data + i, n);
		}
		i += n ? n : 1;
	}
}

static size_t width_of(uint32_t code)
{
	if (code < 0x300)
		return 1;
	return IN(combining, code) ? 0 : IN(wide, code) ? 2 : 1;
}

size_t escape_width(struct text t)
{
	size_t width = 0;

	for (size_t i = 0; i < t.len;) {
		uint32_t code = 0;
		size_t n = utf8_decode(t.data + i, t.len - i, &code);

		width += width_of(code);
		i += n ? n : 1;
	}
	return width;
}

size_t escape_head(struct text t, size_t width)
{
	size_t used = 0, i = 0;

	while (i < t.len) {
		uint32_t code = 0;
		size_t n = utf8_decode(t.data + i, t.len - i, &code);

		used += width_of(code);
		if (used > width)
			break;
		i += n ? n : 1;
	}
	return i;
}

size_t escape_tail(struct text t, size_t width)
{
	size_t left = escape_width(t), i = 0;

	while (i < t.len && left > width) {
		uint32_t code = 0;
		size_t n = utf8_decode(t.data + i, t.len - i, &code);

		left -= width_of(code);
		i += n ? n : 1;
	}
	return t.len - i;
}
