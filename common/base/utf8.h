/* Characters out of bytes that may be anything. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/*
 * Length of the valid UTF-8 sequence at s (1 to 4) and its code point; 0 if the bytes are not one
 * (overlong forms, surrogates and what lies above U+10FFFF are not).
 */
size_t utf8_decode(const char *s, size_t len, uint32_t *code);

#endif
