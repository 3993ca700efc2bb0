/* Hash tables: from a number or a name to a pointer that the caller owns. */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

uint64_t hash_bytes(const void *data, size_t len); /* FNV-1a, finished with a mixer */
uint64_t hash_keyed(uint64_t key, const void *data, size_t len); /* the same from another start */

/* Zeroed is empty. Names are not copied: they live as long as the table. */
struct hash {
	struct hash_slot *slots;
	size_t used, size;
};

void **hash_number(struct hash *h, uint64_t key); /* where key's pointer stands; made NULL if new */
void *hash_find_number(const struct hash *h, uint64_t key);   /* NULL if there is none */
void **hash_name(struct hash *h, const char *name);
void *hash_find_name(const struct hash *h, const char *name);
void hash_reset(struct hash *h);                              /* empty, memory kept */
void hash_free(struct hash *h);

#endif
