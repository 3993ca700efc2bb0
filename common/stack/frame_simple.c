/* Names without what only their compiler cares for: arguments of templates, tiers of a JIT. */
#include <string.h>

#include "common/stack/frame.h"

static bool is_word(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
	       c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

/* Is the '<' at `at` that of "operator<", "operator<<" or "operator<=>"? */
static bool is_operator(struct text t, size_t at)
{
	static const char word[] = "operator";
	const size_t n = sizeof(word) - 1;

	while (at && t.data[at - 1] == '<')
		at--;
	return at >= n && !memcmp(t.data + at - n, word, n) &&
	       (at == n || !is_word(t.data[at - n - 1]));
}

/*
 * Does a template's list of arguments begin here? Behind a name: "vector<", in Rust "collect::<".
 * "<T as Trait>::f" is no list, but the name itself.
 */
static bool opens_list(struct text t, size_t at)
{
	if (!at || is_operator(t, at))
		return false;
	return is_word(t.data[at - 1]) || (at >= 2 && !memcmp(t.data + at - 2, "::", 2));
}

/* Behind the '>' that closes the list at `at`; t.len if nothing does. */
static size_t list_end(struct text t, size_t at)
{
	size_t depth = 0;

	for (; at < t.len; at++) {
		if (t.data[at] == '<' && !is_operator(t, at))
			depth++;
		else if (t.data[at] == '>' && t.data[at - 1] != '-' && --depth == 0)
			return at + 1;
	}
	return t.len;
}

static size_t put(char *out, size_t len, size_t size, const char *bytes, size_t n)
{
	if (n > size - len)
		n = size - len;
	if (n)
		memcpy(out + len, bytes, n);
	return len + n;
}

/* "LazyCompile:*f /x.js:1", "JS:~f ...": the same function whichever compiler had it last. */
static struct text without_tier(struct text t)
{
	static const char *const kinds[] = { "LazyCompile:", "JS:", "Function:" };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		const size_t n = strlen(kinds[i]);

		if (!text_starts(t, kinds[i]))
			continue;
		t = (struct text){ t.data + n, t.len - n };
		if (t.len && memchr("*~^+", t.data[0], 4))
			t = (struct text){ t.data + 1, t.len - 1 };
		break;
	}
	return t;
}

size_t frame_simplify(struct text t, char *out, size_t size)
{
	const struct text name = without_tier(t);
	size_t len = 0, from = 0;

	if (name.data != t.data && (!name.len || name.data[0] == ' '))
		len = put(out, len, size, "(anonymous)", 11);
	for (size_t at = 0; at < name.len; at++) {
		if (name.data[at] != '<' || !opens_list(name, at))
			continue;
		const size_t end = list_end(name, at);

		if (end == name.len && name.data[end - 1] != '>')
			break;
		len = put(out, len, size, name.data + from, at - from);
		len = put(out, len, size, "<...>", 5);
		from = end;
		at = end - 1;
	}
	return put(out, len, size, name.data + from, name.len - from);
}
