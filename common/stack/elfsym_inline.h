/*
 * Which functions stand at an address according to debug information (DWARF): those that the
 * compiler put into others have no symbol of their own.
 */
#ifndef STACK_ELFSYM_INLINE_H
#define STACK_ELFSYM_INLINE_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/text.h"

struct elfsym_inline;

void elfsym_inline_free(struct elfsym_inline *i);

#endif
