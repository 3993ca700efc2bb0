#include "common/stack/protobuf.h"

bool protobuf_varint(struct text *t, uint64_t *value)
{
	uint64_t v = 0;

	for (size_t i = 0; i < t->len && i < 10; i++) {
		const uint64_t byte = (unsigned char)t->data[i];

		v |= (byte & 127) << (7 * i);
		if (byte & 128)
			continue;
		*value = v;
		*t = (struct text){ t->data + i + 1, t->len - i - 1 };
		return true;
	}
	return false;
}

/* Little endian, whatever this machine is. */
static bool take_fixed(struct text *t, size_t bytes, uint64_t *value)
{
	if (t->len < bytes)
		return false;
	*value = 0;
	for (size_t i = bytes; i-- > 0;)
		*value = *value << 8 | (unsigned char)t->data[i];
	*t = (struct text){ t->data + bytes, t->len - bytes };
	return true;
}

bool protobuf_next(struct text *message, struct protobuf_field *f)
{
	struct text t = *message;
	struct protobuf_field new = { .bytes = { "", 0 } };
	uint64_t tag, len;

	if (!protobuf_varint(&t, &tag) || tag >> 3 == 0 || tag >> 3 >= 1u << 29)
		return false;
	new.number = (uint32_t)(tag >> 3);
	new.wire = (enum protobuf_wire)(tag & 7);
	switch (new.wire) {
	case PROTOBUF_VARINT:
		if (!protobuf_varint(&t, &new.value))
			return false;
		break;
	case PROTOBUF_64:
	case PROTOBUF_32:
		if (!take_fixed(&t, new.wire == PROTOBUF_64 ? 8 : 4, &new.value))
			return false;
		break;
	case PROTOBUF_BYTES:
		if (!protobuf_varint(&t, &len) || len > t.len)
			return false;
		new.bytes = (struct text){ t.data, (size_t)len };
		t = (struct text){ t.data + len, t.len - (size_t)len };
		break;
	default:
		return false;
	}
	*message = t;
	*f = new;
	return true;
}

bool protobuf_number(struct protobuf_field *f, bool *state, uint64_t *value)
{
	if (f->wire == PROTOBUF_BYTES)
		return protobuf_varint(&f->bytes, value);
	if (*state)
		return false;
	*state = true;
	*value = f->value;
	return true;
}
