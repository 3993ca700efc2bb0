/*
 * What the map of sockets' owners costs, and a list of all network namespaces: owners [ROUNDS].
 * Prints, in microseconds, the quickest of as many rounds: a bare readlink of every descriptor in
 * proc, the map made that way, loading the iterator, the map made by it, netns_select("all")
 * with the map at hand, and going into each of those namespaces and back.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "common/base/fail.h"
#include "common/kernel/netns.h"
#include "common/kernel/sockowner.h"
#include "common/kernel/source.h"

static uint64_t now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000u + (uint64_t)t.tv_nsec / 1000;
}

/* The inode of a socket of our own is looked for, so that the result depends on the work. */
static uint64_t own_inode(int fd)
{
	char path[32], target[64] = "";

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return readlink(path, target, sizeof(target) - 1) > 8 ? strtoull(target + 8, NULL, 10) : 0;
}

static size_t read_links(int at, DIR *d)
{
	struct dirent *e;
	char target[64];
	size_t sockets = 0;

	while ((e = readdir(d))) {
		ssize_t n = readlinkat(at, e->d_name, target, sizeof(target));

		sockets += n > 8 && !memcmp(target, "socket:[", 8);
	}
	return sockets;
}

static uint64_t time_bare(void)
{
	const uint64_t start = now_us();
	DIR *proc = opendir("/proc"), *d;
	struct dirent *e;
	size_t sockets = 0;
	char path[300];

	while (proc && (e = readdir(proc))) {
		snprintf(path, sizeof(path), "/proc/%s/fd", e->d_name);
		d = e->d_name[0] >= '0' && e->d_name[0] <= '9' ? opendir(path) : NULL;
		if (!d)
			continue;
		sockets += read_links(dirfd(d), d);
		closedir(d);
	}
	if (proc)
		closedir(proc);
	return sockets ? now_us() - start : UINT64_MAX;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Into each and back, as a pass over all of them does. */
static uint64_t time_pass(const struct netns_list *list)
{
	const uint64_t start = now_us();
	int err = 0;

	for (size_t i = 0; !err && i < list->count; i++)
		err = netns_enter(&list->items[i]);
	err = netns_leave() ? -1 : err;
	return err ? UINT64_MAX : now_us() - start;
}

static uint64_t time_map(enum sockowner_way way, uint64_t inode, uint64_t *list_us,
			 uint64_t *pass_us)
{
	struct netns_list list;
	size_t count = 0;

	sockowner_way = way;
	if (src_frame_begin() != 1)
		return UINT64_MAX;
	uint64_t start = now_us();

	sockowner_find(inode, &count);
	uint64_t took = now_us() - start;

	start = now_us();
	if (!netns_select("all", &list)) {
		*list_us = least(*list_us, now_us() - start);
		*pass_us = least(*pass_us, time_pass(&list));
	}
	return count == 1 ? took : UINT64_MAX;
}

int main(int argc, char **argv)
{
	const unsigned rounds = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 5;
	uint64_t bare = UINT64_MAX, scan = UINT64_MAX, iterate = UINT64_MAX, list = UINT64_MAX;
	uint64_t pass = UINT64_MAX;
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	const uint64_t inode = fd < 0 ? 0 : own_inode(fd);

	if (!inode || src_open_live())
		return fprintf(stderr, "%s\n", fail_text()), 3;
	const uint64_t first = time_map(SOCKOWNER_ITERATE, inode, &list, &pass);

	if (strcmp(sockowner_engine(), "task_file iterator") != 0)
		return fprintf(stderr, "no iterator: %s\n", sockowner_refusal()), 3;
	for (unsigned i = 0; i < rounds; i++) {
		bare = least(bare, time_bare());
		scan = least(scan, time_map(SOCKOWNER_SCAN, inode, &list, &pass));
		iterate = least(iterate, time_map(SOCKOWNER_ITERATE, inode, &list, &pass));
	}
	printf("bare_us %llu\nscan_us %llu\nload_us %llu\niterate_us %llu\nlist_us %llu\n"
	       "pass_us %llu\n",
	       (unsigned long long)bare, (unsigned long long)scan,
	       (unsigned long long)(first - iterate), (unsigned long long)iterate,
	       (unsigned long long)list, (unsigned long long)pass);
	src_close();
	return 0;
}
