/* An ELF file of anybody's making: its build id, symbols, and the same bytes as a mangled name. */
#include "common/stack/elfsym.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* libiberty loses 16 bytes for each Rust name whose Punycode leads nowhere: not ours. */
const char *__lsan_default_suppressions(void);

const char *__lsan_default_suppressions(void)
{
	return "leak:print_ident\n";
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct text image = { (const char *)data, size };
	char hex[ELFSYM_BUILD_ID_HEX], name[256], readable[256];
	uint64_t offset, address = 0;

	elfsym_build_id_of(image, hex);
	if (size >= 8)
		memcpy(&address, data + size - 8, 8);
	for (unsigned i = 0; i < 3; i++, address = address / 2 & 0xffff)
		elfsym_lookup_of(image, address, name, sizeof(name), &offset);

	size_t len = size < sizeof(name) ? size : sizeof(name) - 1;

	memcpy(name, data, len);
	name[len] = '\0';
	elfsym_demangle(name, readable, sizeof(readable));
	return 0;
}
