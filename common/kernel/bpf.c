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
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/base/fail.h"
#include "common/base/mem.h"
#include "common/base/scan.h"
#include "common/kernel/source.h"

#define LAST_LINE_MAX 512
#define ITERATOR_BYTES 32768           /* the kernel fills one page or two at a time */

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

static bool is_older_than(unsigned major, unsigned minor)
{
	const char *release = src_uname()->release;
	struct scan s = scan_of(text_of(release ? release : ""));
	uint64_t a, b;

	return scan_u64(&s, &a) && scan_literal(&s, ".") && scan_u64(&s, &b) &&
		(a < major || (a == major && b < minor));
}

int bpf_explain_load(int err, const char *needs, unsigned minor)
{
	if (err == EPERM)
		/* the verifier's own refusals are EACCES and EINVAL */
		return bpf_fail_refused(err);
	if (err == ENOSYS)
		return fail_errno(err, "bpf() refused: seccomp, or no CONFIG_BPF_SYSCALL");
	if (is_older_than(5, minor))
		return fail(EINVAL, "needs %s: Linux 5.%u, this is %s", needs, minor,
			    src_uname()->release);
	bpf_fail(err, "loading the BPF programs");
	char *text = mem_strdup(fail_text());
	int kept = bpf_probe_btf();    /* if it has a reason, that is the reason */

	if (!kept)
		kept = fail(err, "%s", text);
	free(text);
	return kept;
}

int bpf_iterate(int link_fd, size_t row_size, void (*each)(const void *row, void *arg), void *arg)
{
	char rows[ITERATOR_BYTES];
	const size_t whole = sizeof(rows) / row_size * row_size;
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.iter_create.link_fd = (uint32_t)link_fd;
	int fd = (int)syscall(SYS_bpf, BPF_ITER_CREATE, &attr, sizeof(attr));

	if (fd < 0)
		return fail_errno(errno, "bpf(BPF_ITER_CREATE)");
	for (;;) {
		ssize_t n = read(fd, rows, whole);

		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue; /* EAGAIN: a million objects without a row; it goes on from there
				   */
		if (n <= 0 || (size_t)n % row_size) {
			int err = n < 0 ? errno : n ? EIO : 0;

			close(fd);
			return err ? fail_errno(err, "reading a BPF iterator") : 0;
		}
		for (size_t at = 0; each && at < (size_t)n; at += row_size)
			each(rows + at, arg);
	}
}

int bpf_map_next(int map_fd, const void *key, void *next)
{
	return bpf_map_get_next_key(map_fd, key, next);
}

int bpf_map_get(int map_fd, const void *key, void *value)
{
	return bpf_map_lookup_elem(map_fd, key, value);
}

int bpf_map_put(int map_fd, const void *key, const void *value)
{
	return bpf_map_update_elem(map_fd, key, value, BPF_ANY);
}

int bpf_map_remove(int map_fd, const void *key)
{
	return bpf_map_delete_elem(map_fd, key);
}

int bpf_possible_cpus(void)
{
	return libbpf_num_possible_cpus();
}

/* typedef void (*btf_trace_NAME)(void *, ...): the first argument is not the tracepoint's. */
int bpf_tracepoint_arguments(const char *name)
{
	char type[64];

	snprintf(type, sizeof(type), "btf_trace_%s", name);
	struct btf *btf = btf__load_vmlinux_btf();

	if (!btf)
		return -errno;
	const int id = btf__find_by_name_kind(btf, type, BTF_KIND_TYPEDEF);
	const struct btf_type *t = id > 0 ? btf__type_by_id(btf, (uint32_t)id) : NULL;

	if (t)
		t = btf__type_by_id(btf, t->type);
	if (t && btf_is_ptr(t))
		t = btf__type_by_id(btf, t->type);
	const int count = t && btf_is_func_proto(t) ? btf_vlen(t) - 1 : -ENOENT;

	btf__free(btf);
	return count;
}

uint64_t bpf_program_misses(int program_fd)
{
	struct bpf_prog_info info = { 0 };
	uint32_t size = sizeof(info);

	return bpf_obj_get_info_by_fd(program_fd, &info, &size) ? 0 : info.recursion_misses;
}

static void give_enumerators(const struct btf *btf, const struct btf_type *t,
			     void (*each)(void *arg, const char *name, uint64_t value), void *arg)
{
	for (unsigned i = 0; i < btf_vlen(t); i++) {
		const struct btf_enum64 *wide = btf_enum64(t) + i;
		const struct btf_enum *plain = btf_enum(t) + i;
		const bool is_wide = btf_is_enum64(t);
		const char *name = btf__name_by_offset(btf, is_wide ? wide->name_off :
							      plain->name_off);

		if (name)
			each(arg, name, is_wide ? btf_enum64_value(wide) : (uint32_t)plain->val);
	}
}

static bool ends_in(const char *name, const char *ending)
{
	const size_t len = strlen(name), n = strlen(ending);

	return len >= n && !strcmp(name + len - n, ending);
}

int bpf_each_enumerator(const char *module, const char *ending,
			void (*each)(void *arg, const char *name, uint64_t value), void *arg)
{
	struct btf *kernel, *btf;
	int found = 0;

	bpf_quiet();
	kernel = btf__load_vmlinux_btf();
	if (!kernel)
		return -errno;
	btf = module ? btf__load_module_btf(module, kernel) : kernel;
	if (!btf) {
		found = -errno;
		btf__free(kernel);
		return found;
	}
	/* a module's own types stand behind the kernel's */
	for (uint32_t id = module ? btf__type_cnt(kernel) : 1; id < btf__type_cnt(btf); id++) {
		const struct btf_type *t = btf__type_by_id(btf, id);
		const char *name = t ? btf__name_by_offset(btf, t->name_off) : NULL;

		if (!name || (!btf_is_enum(t) && !btf_is_enum64(t)) || !ends_in(name, ending))
			continue;
		give_enumerators(btf, t, each, arg);
		found++;
	}
	if (module)
		btf__free(btf);
	btf__free(kernel);
	return found;
}
