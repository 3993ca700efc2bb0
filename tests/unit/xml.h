/* Whether text is well-formed XML, as far as a program that writes no DTD can get it wrong. */
#ifndef TESTS_UNIT_XML_H
#define TESTS_UNIT_XML_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/scan.h"
#include "common/base/utf8.h"

#define XML_DEPTH_MAX 16
#define XML_ATTRIBUTES_MAX 16

/* XML 1.0, production 2, in valid UTF-8. */
static inline bool xml_has_only_characters(struct text t)
{
	for (size_t i = 0, len; i < t.len; i += len) {
		uint32_t c;

		len = utf8_decode(t.data + i, t.len - i, &c);
		if (!len || (c < ' ' && c != '\t' && c != '\n' && c != '\r') || c == 0xfffe ||
		    c == 0xffff)
			return false;
	}
	return true;
}

/* Character data or an attribute's value: what is special is escaped. */
static inline bool xml_is_escaped(struct text t)
{
	static const char *const entities[] = { "&lt;", "&gt;", "&amp;", "&quot;", "&apos;" };

	for (size_t i = 0; i < t.len; i++) {
		const struct text rest = { t.data + i, t.len - i };
		bool is_entity = false;

		if (*rest.data == '<' || text_starts(rest, "]]>"))
			return false;
		for (size_t e = 0; e < 5 && *rest.data == '&'; e++)
			is_entity |= text_starts(rest, entities[e]);
		if (*rest.data == '&' && !is_entity)
			return false;
	}
	return true;
}

static inline bool xml_name(struct scan *s, struct text *name)
{
	const char *from = s->at;

	while (s->at < s->end && ((*s->at >= 'a' && *s->at <= 'z') || *s->at == '-' ||
				  (*s->at >= 'A' && *s->at <= 'Z') ||
				  (s->at > from && *s->at >= '0' && *s->at <= '9')))
		s->at++;
	*name = (struct text){ from, (size_t)(s->at - from) };
	return name->len > 0;
}

/* name="value" ... up to > or />. */
static inline bool xml_attributes(struct scan *s)
{
	struct text names[XML_ATTRIBUTES_MAX], value;
	size_t count = 0;

	for (;; count++) {
		const char *before = s->at;

		while (s->at < s->end && (*s->at == ' ' || *s->at == '\n'))
			s->at++;
		if (s->at == s->end)
			return false;
		if (*s->at == '>' || *s->at == '/')
			return true;
		if (s->at == before || count == XML_ATTRIBUTES_MAX || !xml_name(s, &names[count]))
			return false;
		if (!scan_literal(s, "=\"") || !scan_until(s, '"', &value) ||
		    !xml_is_escaped(value))
			return false;
		for (size_t i = 0; i < count; i++)
			if (names[i].len == names[count].len &&
			    !memcmp(names[i].data, names[count].data, names[i].len))
				return false;
	}
}

/* Past CDATA, whose start has been read. */
static inline bool xml_cdata(struct scan *s)
{
	const char *end = memmem(s->at, (size_t)(s->end - s->at), "]]>", 3);

	if (end)
		s->at = end + 3;
	return end != NULL;
}

/* A tag, whose "<" has been read; open holds the names of the elements around it. */
static inline bool xml_tag(struct scan *s, struct text *open, size_t *depth)
{
	struct text name;

	if (scan_literal(s, "/")) {
		if (!*depth || !xml_name(s, &name) || !scan_literal(s, ">"))
			return false;
		--*depth;
		return name.len == open[*depth].len &&
		       !memcmp(name.data, open[*depth].data, name.len);
	}
	if (!xml_name(s, &name) || !xml_attributes(s))
		return false;
	if (scan_literal(s, "/>"))
		return true;
	if (*depth == XML_DEPTH_MAX || !scan_literal(s, ">"))
		return false;
	open[(*depth)++] = name;
	return true;
}

/* One element with a declaration before it and a newline behind. */
static inline bool xml_is_well_formed(struct text t)
{
	struct scan s = scan_of(t);
	struct text open[XML_DEPTH_MAX], text;
	size_t depth = 0;
	unsigned roots = 0;

	if (!xml_has_only_characters(t) || !scan_literal(&s, "<?xml ") ||
	    !scan_until(&s, '\n', &text))
		return false;
	while (s.at < s.end) {
		const char *from = s.at;

		while (s.at < s.end && *s.at != '<')
			s.at++;
		text = (struct text){ from, (size_t)(s.at - from) };
		if (!xml_is_escaped(text) || (!depth && text.len && !text_is(text, "\n")))
			return false;
		if (s.at == s.end)
			break;
		if (depth && scan_literal(&s, "<![CDATA[")) {
			if (!xml_cdata(&s))
				return false;
			continue;
		}
		roots += !depth;
		s.at++;
		if (!xml_tag(&s, open, &depth))
			return false;
	}
	return !depth && roots == 1;
}

#endif
