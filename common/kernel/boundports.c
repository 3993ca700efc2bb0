#include "common/kernel/boundports.h"

#include <errno.h>
#include <linux/bpf.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "boundports.skel.h"
#include "common/base/buf.h"
#include "common/base/fail.h"
#include "common/kernel/bpf.h"
#include "common/kernel/source.h"

static struct boundports_bpf *program;

/* A file whose reading runs the iterator: kernel/bpf/bpf_iter.c. */
static int open_iterator(void)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.iter_create.link_fd = (uint32_t)bpf_link__fd(program->links.each_socket);
	return (int)syscall(SYS_bpf, BPF_ITER_CREATE, &attr, sizeof(attr));
}

static int walk(void)
{
	char nothing[64];
	ssize_t n;
	int fd = open_iterator();

	if (fd < 0)
		return fail_errno(errno, "bpf(BPF_ITER_CREATE)");
	do
		n = read(fd, nothing, sizeof(nothing));
	while (n > 0 || (n < 0 && (errno == EINTR || errno == EAGAIN)));
	int err = n < 0 ? errno : 0;

	close(fd);
	return err ? fail_errno(err, "reading the BPF TCP iterator") : 0;
}

/* "8080,40000-40010\n" */
static void add_list(struct buf *to, const struct port_set *s)
{
	for (unsigned port = 0; port < 65536; port++) {
		unsigned first = port;

		if (!port_set_has(s, (uint16_t)port))
			continue;
		while (port < 65535 && port_set_has(s, (uint16_t)(port + 1)))
			port++;
		buf_printf(to, port > first ? "%s%u-%u" : "%s%u", to->len ? "," : "", first, port);
	}
	buf_add_char(to, '\n');
}

static int fetch(void *arg, struct buf *reply)
{
	struct port_set s;

	(void)arg;
	if (!program)
		return fail(ENOENT, "bpf bound ports: not open");
	memset(program->bss->ports, 0, sizeof(program->bss->ports));
	int err = walk();

	if (err)
		return err;
	memcpy(s.words, program->bss->ports, sizeof(s.words));
	add_list(reply, &s);
	return 0;
}

int boundports_read(struct port_set *s)
{
	struct text reply;
	int err = src_call("bpf bound ports", fetch, NULL, &reply);

	return err ? err : ports_parse_set(reply, s);
}

int boundports_open(void)
{
	if (!src_is_live() || program)
		return 0;
	bpf_quiet();
	program = boundports_bpf__open();
	if (!program)
		return fail(errno, "%s",
			    errno == ENOTSUP ? "built without BPF" : "opening the BPF program");
	int err = -boundports_bpf__load(program);

	if (!err)
		err = -boundports_bpf__attach(program);
	if (err == EPERM)
		bpf_fail_refused(err);
	else if (err)
		bpf_fail(err, "loading the BPF program (TCP iterator: Linux 5.9)");
	if (err)
		boundports_close();
	return -err;
}

void boundports_close(void)
{
	boundports_bpf__destroy(program);
	program = NULL;
}
