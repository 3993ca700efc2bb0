/* A frame's manifest of anybody's making; what can be read from it can be written back. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/kernel/source_impl.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What a value line said, written and read again, is the same. */
static void write_back(const struct src_value_line *v, struct arena *arena)
{
	struct src_manifest m = { 0 };
	struct buf line = { 0 };

	buf_add_text(&line, "value");
	src_add_word(&line, v->name);
	src_add_word(&line, v->text);
	buf_add_char(&line, '\n');
	src_parse_manifest(buf_text(&line), arena, &m);
	if (m.garbled || !m.first_value || strcmp(m.first_value->name, v->name) != 0 ||
	    strcmp(m.first_value->text, v->text) != 0)
		abort();
	src_manifest_free(&m);
	buf_free(&line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct text content = { (const char *)data, size };
	struct arena arena = { 0 };
	struct src_manifest m = { 0 };
	unsigned values = 0;

	src_is_frame_manifest(content);
	src_parse_manifest(content, &arena, &m);
	if (!m.garbled != !m.garbled_why || !m.garbled != !m.garbled_line)
		abort();
	for (const struct src_value_line *v = m.first_value; v && values++ < 64; v = v->next)
		write_back(v, &arena);
	src_manifest_free(&m);
	arena_free(&arena);
	return 0;
}
