/*
 * Fields of a protobuf message, read where they lie
 * (protobuf.dev/programming-guides/encoding: tag = number << 3 | wire type).
 */
#ifndef STACK_PROTOBUF_H
#define STACK_PROTOBUF_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/text.h"

enum protobuf_wire { PROTOBUF_VARINT = 0, PROTOBUF_64 = 1, PROTOBUF_BYTES = 2, PROTOBUF_32 = 5 };

struct protobuf_field {
	uint32_t number;
	enum protobuf_wire wire;
	uint64_t value;                /* VARINT, 64, 32 */
	struct text bytes;             /* BYTES: also a message, or numbers packed */
};

/* The next field, taken off message. False at its end (message->len 0) or where it's broken. */
bool protobuf_next(struct text *message, struct protobuf_field *f);
bool protobuf_varint(struct text *t, uint64_t *value);         /* taken off; false, unmoved */

/*
 * The numbers of a field that may be packed or one of many: call until false with *state zeroed
 * for each field.
 */
bool protobuf_number(struct protobuf_field *f, bool *state, uint64_t *value);

#endif
