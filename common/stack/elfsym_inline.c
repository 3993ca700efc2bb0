#include "common/stack/elfsym_inline.h"

#include <stdlib.h>

void elfsym_inline_free(struct elfsym_inline *i)
{
	free(i);
}
