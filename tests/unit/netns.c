#include "common/kernel/netns.h"

#include <errno.h>

#include "tests/unit/check.h"

/* "list WANTED": what the live tests look at. */
#include "common/kernel/source.h"
static int list(const char *wanted)
{
	struct netns_list l;

	if (src_open_live() || src_frame_begin() != 1 || netns_select(wanted, &l))
		return printf("%s\n", fail_text()), 1;
	for (size_t i = 0; i < l.count; i++) {
		struct netns *n = &l.items[i];
		struct text t = {"",0};
		int err = netns_enter(n);
		if (!err) src_read("proc/net/dev", &t);
		printf("%llu\t%s\t%d\t%u\t%s\tenter %d\t%zu\n", (unsigned long long)n->inode, n->name, n->is_own, n->pid, n->path, err, t.len);
	}
	printf("leave %d complete %d descriptors %d\n", netns_leave(), l.is_complete, l.has_descriptors);
	src_close();
	return 0;
}
int main(int argc, char **argv)
{
	if (argc > 1)
		return list(argc > 2 ? argv[2] : NULL);
	CHECK(1);
	return check_done("netns");
}
