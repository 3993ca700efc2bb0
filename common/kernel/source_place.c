/* Where a path stands in a run: behind its namespace's folder, and nothing leads out. */
#include "common/kernel/source_impl.h"

#include <errno.h>
#include <string.h>

/* Names at the top of a frame's folder that are not the kernel's. */
static bool is_reserved(const char *path)
{
	static const char *const names[] = { "manifest", "calls", "netns" };
	const size_t n = strcspn(path, "/");

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strlen(names[i]) == n && !memcmp(path, names[i], n))
			return true;
	return false;
}

/* Appends path without what says nothing ("//", "./"). */
static int add_path(struct buf *to, const char *path)
{
	bool is_first = !to->len || to->data[to->len - 1] == '/';

	for (;;) {
		path += strspn(path, "/");
		if (!*path)
			return to->len < SRC_PATH_MAX ? 0 : -ENAMETOOLONG;
		const char *end = strchrnul(path, '/');
		const size_t n = (size_t)(end - path);

		if (n == 2 && path[0] == '.' && path[1] == '.')
			return -EINVAL;
		if (n != 1 || path[0] != '.') {
			if (!is_first)
				buf_add_char(to, '/');
			buf_add(to, path, n);
			is_first = false;
		}
		path = end;
	}
}

int src_find_place(struct buf *b, uint64_t netns, const char *below, const char *path,
		   struct src_place *p)
{
	buf_reset(b);
	if (netns)
		buf_printf(b, "netns/%llu/", (unsigned long long)netns);
	const size_t prefix = b->len;

	if (below) {
		buf_add_text(b, below);
		buf_add_char(b, '/');
	}
	const size_t start = b->len;
	int err = add_path(b, path);

	if (!err && (b->len == start || (!below && is_reserved(b->data + prefix))))
		err = -EINVAL;
	if (!err)
		*p = (struct src_place){ b->data, b->data + prefix, b->data + start };
	return err;
}
