#include "common/base/hash.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"

struct hash_slot {
	const char *name;      /* NULL for a number */
	uint64_t key;          /* the number, or the name's hash */
	void *value;
	bool used;
};

static uint64_t mix(uint64_t h)
{
	h ^= h >> 33;
	h *= 0xff51afd7ed558ccdull;
	h ^= h >> 33;
	h *= 0xc4ceb9fe1a85ec53ull;
	return h ^ h >> 33;
}

uint64_t hash_keyed(uint64_t key, const void *data, size_t len)
{
	const unsigned char *p = data;
	uint64_t h = 0xcbf29ce484222325ull ^ mix(key);

	for (size_t i = 0; i < len; i++)
		h = (h ^ p[i]) * 0x100000001b3ull;
	return mix(h);
}

uint64_t hash_bytes(const void *data, size_t len)
{
	return hash_keyed(0, data, len);
}

static struct hash_slot *find(const struct hash *h, uint64_t key, const char *name)
{
	size_t i = (name ? key : mix(key)) & (h->size - 1);

	while (h->slots[i].used) {
		const struct hash_slot *s = &h->slots[i];

		if (s->key == key && !s->name == !name && (!name || !strcmp(s->name, name)))
			break;
		i = (i + 1) & (h->size - 1);
	}
	return &h->slots[i];
}

static void grow(struct hash *h)
{
	struct hash old = *h;

	h->size = old.size ? old.size * 2 : 16;
	h->slots = mem_alloc(h->size * sizeof(*h->slots));
	for (size_t i = 0; i < old.size; i++)
		if (old.slots[i].used)
			*find(h, old.slots[i].key, old.slots[i].name) = old.slots[i];
	free(old.slots);
}

static void **slot(struct hash *h, uint64_t key, const char *name)
{
	if ((h->used + 1) * 4 > h->size * 3)
		grow(h);
	struct hash_slot *s = find(h, key, name);

	if (!s->used) {
		*s = (struct hash_slot){ .name = name, .key = key, .used = true };
		h->used++;
	}
	return &s->value;
}

void **hash_number(struct hash *h, uint64_t key)
{
	return slot(h, key, NULL);
}

void *hash_find_number(const struct hash *h, uint64_t key)
{
	return h->size ? find(h, key, NULL)->value : NULL;
}

void **hash_name(struct hash *h, const char *name)
{
	return slot(h, hash_bytes(name, strlen(name)), name);
}

void *hash_find_name(const struct hash *h, const char *name)
{
	return h->size ? find(h, hash_bytes(name, strlen(name)), name)->value : NULL;
}

void hash_reset(struct hash *h)
{
	if (h->slots)
		memset(h->slots, 0, h->size * sizeof(*h->slots));
	h->used = 0;
}

void hash_free(struct hash *h)
{
	free(h->slots);
	*h = (struct hash){ 0 };
}
