#include "common/kernel/bpf.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/base/fail.h"

#define LAST_LINE_MAX 512

static char last_line[LAST_LINE_MAX];

/* Multi-line texts (a verifier's log) come in one call: their last line tells most. */
__attribute__((format(printf, 2, 0)))
static int keep_last_line(enum libbpf_print_level level, const char *format, va_list args)
{
	static const char prefix[] = "libbpf: ";
	char text[LAST_LINE_MAX * 4];

	if (level != LIBBPF_WARN)
		return 0;
	vsnprintf(text, sizeof(text), format, args);
	size_t len = strlen(text);

	while (len && (text[len - 1] == '\n' || text[len - 1] == ' '))
		text[--len] = '\0';
	const char *line = strrchr(text, '\n');

	line = line ? line + 1 : text;
	if (!strncmp(line, prefix, sizeof(prefix) - 1))
		line += sizeof(prefix) - 1;
	/* what failed for it is known; the line before says why */
	if (last_line[0] && !strncmp(line, "failed to load ", strlen("failed to load ")))
		return 0;
	if (*line)
		snprintf(last_line, sizeof(last_line), "%.*s", LAST_LINE_MAX - 1, line);
	return 0;
}

const char *bpf_library_version(void)
{
	return libbpf_version_string();
}

void bpf_quiet(void)
{
	libbpf_set_print(keep_last_line);
	last_line[0] = '\0';
}

const char *bpf_last_line(void)
{
	return last_line;
}

int bpf_fail(int err, const char *what)
{
	if (!last_line[0])
		return fail_errno(err, "%s", what);
	return fail(err, "%s: %s (libbpf: %s)", what, strerror(err), last_line);
}

static bool has_capability(unsigned cap)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { 0 };

	return !syscall(SYS_capget, &header, data) &&
		(data[cap / 32].effective & 1u << cap % 32);
}

int bpf_fail_refused(int err)
{
	if (!has_capability(CAP_SYS_ADMIN) &&
	    !(has_capability(CAP_BPF) && has_capability(CAP_PERFMON)))
		return fail(err, "bpf() refused: needs root, or CAP_BPF and CAP_PERFMON");
	return bpf_fail(
		err, "bpf() refused in spite of the capabilities: a user namespace, seccomp or a "
		     "security module");
}

int bpf_probe_load(void)
{
	/* r0 = 0; exit; */
	static const struct bpf_insn program[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};

	bpf_quiet();
	int fd = bpf_prog_load(BPF_PROG_TYPE_TRACEPOINT, "perfbox_probe", "GPL", program,
			       sizeof(program) / sizeof(*program), NULL);

	if (fd < 0)
		return bpf_fail(-fd, "bpf(BPF_PROG_LOAD)");
	close(fd);
	return 0;
}

int bpf_probe_btf(void)
{
	bpf_quiet();
	struct btf *btf = btf__load_vmlinux_btf();

	if (!btf)
		return bpf_fail(errno, "kernel BTF (/sys/kernel/btf/vmlinux)");
	btf__free(btf);
	return 0;
}
