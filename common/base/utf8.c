#include "common/base/utf8.h"

size_t utf8_decode(const char *s, size_t len, uint32_t *code)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	unsigned char first = len ? (unsigned char)*s : 0xff;
	size_t need = first < 0x80 ? 1 : first < 0xc0 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 :
		first < 0xf8 ? 4 : 0;

	if (!need || need > len)
		return 0;
	uint32_t value = need == 1 ? first : first & (0x7fu >> need);

	for (size_t i = 1; i < need; i++) {
		if (((unsigned char)s[i] & 0xc0) != 0x80)
			return 0;
		value = value << 6 | ((unsigned char)s[i] & 0x3f);
	}
	if (value < least[need] || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff))
		return 0;
	*code = value;
	return need;
}
