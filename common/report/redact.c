/* Pseudonyms for names, keyed with the boot id. */
#include "common/report/redact.h"

#include <stdint.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/base/hash.h"
#include "common/base/scan.h"
#include "common/base/text.h"

static bool is_on;
static uint64_t key[2];

void redact_on(const char *boot_id)
{
	uint64_t words[2] = { 0, 0 };
	unsigned digits = 0;

	is_on = boot_id != NULL;
	if (!is_on)
		return;
	for (const char *p = boot_id; *p && *p != '\n'; p++) {
		int value = scan_hex_digit(*p);

		if (value >= 0 && digits < 32) {
			words[digits / 16] = words[digits / 16] << 4 | (uint64_t)value;
			digits++;
		} else if (*p != '-') {
			digits = 0;
			break;
		}
	}
	if (digits != 32) {
		/* not the kernel's format: any text will do as a key */
		words[0] = hash_keyed(1, boot_id, strlen(boot_id));
		words[1] = hash_keyed(2, boot_id, strlen(boot_id));
	}
	memcpy(key, words, sizeof(key));
}

bool redact_is_on(void)
{
	return is_on;
}

static uint64_t rotate(uint64_t v, unsigned by)
{
	return v << by | v >> (64 - by);
}

static void mix_rounds(uint64_t v[4], unsigned rounds)
{
	while (rounds--) {
		v[0] += v[1];
		v[2] += v[3];
		v[1] = rotate(v[1], 13) ^ v[0];
		v[3] = rotate(v[3], 16) ^ v[2];
		v[0] = rotate(v[0], 32);
		v[2] += v[1];
		v[0] += v[3];
		v[1] = rotate(v[1], 17) ^ v[2];
		v[3] = rotate(v[3], 21) ^ v[0];
		v[2] = rotate(v[2], 32);
	}
}

/*
 * SipHash-2-4 (Aumasson and Bernstein, 2012): a keyed hash, so that a list of likely names does not
 * undo the pseudonyms of somebody who has no key. base/hash is fast, not secret.
 */
static uint64_t siphash(struct text t)
{
	uint64_t v[4] = {
		key[0] ^ 0x736f6d6570736575ull, key[1] ^ 0x646f72616e646f6dull,
		key[0] ^ 0x6c7967656e657261ull, key[1] ^ 0x7465646279746573ull,
	};
	uint64_t word = 0;

	for (size_t i = 0; i <= t.len; i++) {
		bool last = i == t.len;

		if (last)
			word |= (uint64_t)t.len << 56;
		else
			word |= (uint64_t)(unsigned char)t.data[i] << i % 8 * 8;
		if (!last && i % 8 != 7)
			continue;
		v[3] ^= word;
		mix_rounds(v, 2);
		v[0] ^= word;
		word = 0;
	}
	v[2] ^= 0xff;
	mix_rounds(v, 4);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

static void add_pseudonym(struct buf *to, const char *kind, struct text name)
{
	buf_printf(to, "%s%08x", kind, (unsigned)siphash(name));
}

static bool ends_with(struct text t, const char *suffix)
{
	size_t n = strlen(suffix);

	return t.len > n && !memcmp(t.data + t.len - n, suffix, n);
}

/* What systemd puts behind a unit's name says what it is, not whose. */
static const char *unit_suffix(struct text t)
{
	static const char *const suffixes[] = {
		".slice", ".scope", ".service", ".mount", ".socket",
	};

	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++)
		if (ends_with(t, suffixes[i]))
			return suffixes[i];
	return "";
}

static bool is_well_known(struct text t)
{
	static const char *const known[] = {
		"", ".", "..", "system.slice", "user.slice", "machine.slice", "init.scope",
		"docker", "burstable", "besteffort", "guaranteed", "kubepods", "kubepods.slice",
		"kubepods-burstable.slice", "kubepods-besteffort.slice",
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (text_is(t, known[i]))
			return true;
	return false;
}

static void add_cgroup_component(struct buf *to, struct text t)
{
	/* the pod's uid follows these: the class of service stays, the uid goes */
	static const char *const pods[] = {
		"kubepods-burstable-pod", "kubepods-besteffort-pod", "kubepods-pod",
	};
	const char *suffix = unit_suffix(t);

	if (is_well_known(t)) {
		buf_add(to, t.data, t.len);
		return;
	}
	t.len -= strlen(suffix);
	for (size_t i = 0; i < sizeof(pods) / sizeof(pods[0]); i++) {
		size_t n = strlen(pods[i]);

		if (!text_starts(t, pods[i]))
			continue;
		add_pseudonym(to, pods[i], (struct text){ t.data + n, t.len - n });
		buf_add_text(to, suffix);
		return;
	}
	add_pseudonym(to, "cgroup-", t);
	buf_add_text(to, suffix);
}

static void add_cgroup(struct buf *to, struct text path)
{
	const char *at = path.data, *end = path.data + path.len;

	for (;;) {
		const char *slash = memchr(at, '/', (size_t)(end - at));

		add_cgroup_component(to, (struct text){ at, (size_t)((slash ? slash : end) - at) });
		if (!slash)
			return;
		buf_add_char(to, '/');
		at = slash + 1;
	}
}

static bool is_port(struct text t)
{
	for (size_t i = 0; i < t.len; i++)
		if (t.data[i] < '0' || t.data[i] > '9')
			return t.len == 1 && t.data[0] == '*';
	return t.len >= 1 && t.len <= 5;
}

/* ADDR, ADDR:PORT, [ADDR]:PORT; a bare IPv6 address has colons and no port. */
static void add_address(struct buf *to, struct text t)
{
	struct text host = t, port = { t.data + t.len, 0 };
	const char *colon = NULL;

	for (size_t i = 0; i < t.len; i++)
		if (t.data[i] == ':')
			colon = t.data + i;

	if (colon) {
		struct text before = { t.data, (size_t)(colon - t.data) };
		struct text after = { colon + 1, t.len - before.len - 1 };

		if (is_port(after) && (!memchr(before.data, ':', before.len) ||
				       ends_with(before, "]") || text_is(before, "::"))) {
			host = before;
			port = (struct text){ colon, t.len - before.len };
		}
	}
	if (host.len > 2 && host.data[0] == '[' && host.data[host.len - 1] == ']')
		host = (struct text){ host.data + 1, host.len - 2 };
	if (text_is(host, "*") || text_is(host, "0.0.0.0") || text_is(host, "::")) {
		buf_add(to, t.data, t.len);      /* any address: nobody's */
		return;
	}
	add_pseudonym(to, "address-", host);
	buf_add(to, port.data, port.len);
}

const char *redact_name(struct arena *arena, enum name_kind kind, const char *name)
{
	static const char *const prefix[] = {
		[NAME_HOST] = "host-", [NAME_USER] = "user-", [NAME_COMMAND] = "command-",
		[NAME_CONTAINER] = "container-",
	};
	/* network namespaces that are nobody's container */
	const bool is_host = kind == NAME_CONTAINER && name &&
		(!strcmp(name, "host") || !strcmp(name, "own"));

	if (!is_on || !name || !*name || kind == NAME_PLAIN || is_host)
		return name;
	struct buf b = { 0 };

	if (kind == NAME_CGROUP)
		add_cgroup(&b, text_of(name));
	else if (kind == NAME_ADDRESS)
		add_address(&b, text_of(name));
	else
		add_pseudonym(&b, prefix[kind], text_of(name));
	const char *result = arena_text(arena, buf_text(&b));

	buf_free(&b);
	return result;
}

/* The folders in which a namespace's file has its name. */
static size_t netns_folder_at(const char *at)
{
	static const char *const folders[] = { "run/netns/", "run/docker/netns/" };

	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		if (!strncmp(at, folders[i], strlen(folders[i])))
			return strlen(folders[i]);
	return 0;
}

/* What follows a path in an error is ": "; a name may have a space in it. */
const char *redact_remark(struct arena *arena, const char *remark)
{
	struct buf b = { 0 };

	if (!is_on)
		return remark;
	while (*remark) {
		size_t n = netns_folder_at(remark);

		if (!n) {
			buf_add_char(&b, *remark++);
			continue;
		}
		const char *name = remark + n, *end = strstr(name, ": ");

		buf_add(&b, remark, n);
		remark = end ? end : name + strlen(name);
		if (remark > name)
			add_pseudonym(&b, "container-",
				      (struct text){ name, (size_t)(remark - name) });
	}
	const char *result = arena_text(arena, buf_text(&b));

	buf_free(&b);
	return result;
}
