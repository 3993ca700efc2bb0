/* The style sheet and the script of a picture, as files so that they can be read and checked. */
#include "common/stack/flamegraph_impl.h"

/* Included by the assembler, from the folder the compiler runs in: the root of the sources. */
#define FILE_AS_BYTES(name, path) \
	__asm__(".pushsection .rodata." #name ", \"a\"\n" \
		#name ": .incbin \"" path "\"\n" \
		#name "_end: .byte 0\n" \
		".popsection"); \
	extern const char name[] __asm__(#name), name##_end[] __asm__(#name "_end")

FILE_AS_BYTES(flamegraph_css_file, "common/stack/flamegraph.css");
FILE_AS_BYTES(flamegraph_js_file, "common/stack/flamegraph.js");

struct text flamegraph_css(void)
{
	return (struct text){ flamegraph_css_file,
			      (size_t)(flamegraph_css_file_end - flamegraph_css_file) };
}

struct text flamegraph_js(void)
{
	return (struct text){ flamegraph_js_file,
			      (size_t)(flamegraph_js_file_end - flamegraph_js_file) };
}
