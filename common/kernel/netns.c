#include "common/kernel/netns.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

#include "common/base/hash.h"
#include "common/base/scan.h"
#include "common/kernel/source.h"

static int fetch_inode(void *arg, struct buf *reply)
{
	struct stat st;
	char path[4096];

	if (snprintf(path, sizeof(path), "/%s", (const char *)arg) >= (int)sizeof(path) ||
	    stat(path, &st) < 0)
		return -errno;
	buf_printf(reply, "%llu", (unsigned long long)st.st_ino);
	return 0;
}

static void add_named(struct hash *seen, const char *folder)
{
	struct src_names names;

	if (src_list(folder, &names) < 0)
		return;
	for (size_t i = 0; i < names.count; i++) {
		char *path = arena_printf(src_arena(), "%s/%s", folder, names.items[i]);
		uint64_t inode;
		struct text t;

		if (src_call(arena_printf(src_arena(), "inode %s", path), fetch_inode, path, &t) >=
			    0 &&
		    scan_all_u64(t, &inode))
			*hash_number(seen, inode) = seen;
	}
}

int netns_count(struct netns_count *count)
{
	struct hash seen = { 0 };
	const uint32_t *pids;
	struct src_dir proc;
	bool is_complete = true;
	size_t n;
	int err = src_dir_open(&proc, "proc");

	if (err < 0)
		return err;
	err = src_dir_numbers(&proc, &pids, &n);
	for (size_t i = 0; err >= 0 && i < n; i++) {
		const char *target;
		char name[32];
		uint64_t inode;

		snprintf(name, sizeof(name), "%u/ns/net", pids[i]);
		int gone = src_dir_link(&proc, name, &target);

		is_complete &= gone != -EACCES && gone != -EPERM;
		if (gone < 0)
			continue;
		struct scan s = scan_of(text_of(target));

		if (scan_literal(&s, "net:[") && scan_u64(&s, &inode))
			*hash_number(&seen, inode) = &seen;
	}
	src_dir_close(&proc);
	add_named(&seen, "run/netns");
	add_named(&seen, "run/docker/netns");
	if (err >= 0)
		*count = (struct netns_count){ seen.used, is_complete };
	hash_free(&seen);
	return err;
}
