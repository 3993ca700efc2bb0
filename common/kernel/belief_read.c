/*
 * What a process's files say it was asked, and its hsperfdata. A process may be anybody's: what its
 * paths lead to is opened as it would be for that process, links never lead out of its own root,
 * and only plain files of a sensible size are read.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/scan.h"
#include "common/kernel/belief.h"
#include "common/kernel/source_impl.h"

#define INSIDE_MAX (1u << 20)          /* bytes of an options file, a release file, passwd */

struct inside {
	uint32_t pid;
	const char *path;              /* without its leading slashes */
};

static int fetch_inside(void *arg, struct buf *reply)
{
	const struct inside *in = arg;
	char root_path[64];
	struct stat st;

	snprintf(root_path, sizeof(root_path), "/proc/%u/root", in->pid);
	int root = open(root_path, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (root < 0)
		return fail_errno(errno, "%s", root_path);
	int fd = src_open_below(root, in->path, O_RDONLY | O_NONBLOCK | O_NOCTTY, SRC_IN_ROOT);

	close(root);
	if (fd < 0)
		return fail_errno(-fd, "%s/%s", root_path, in->path);
	int err = fstat(fd, &st) < 0 ? -errno :
		!S_ISREG(st.st_mode) || st.st_size > (off_t)INSIDE_MAX ? -EFBIG : 0;

	if (!err)
		err = src_read_fd(fd, reply);
	close(fd);
	return err < 0 ? fail_errno(-err, "%s/%s", root_path, in->path) : 0;
}

/* An absolute path in the process's root. A root written by hand has the files themselves. */
static bool read_inside(uint32_t pid, const char *path, struct text *content)
{
	while (*path == '/')
		path++;
	struct inside in = { pid, path };
	const char *key = arena_printf(src_arena(), "inside %u /%s", pid, path);

	if (src_call(key, fetch_inside, &in, content) >= 0)
		return true;
	return !src_is_live() && src_readf(content, "proc/%u/root/%s", pid, path) >= 0;
}

/* ---- versions ---- */

/* "/opt/jdk/bin/java" with 2 is "/opt/jdk"; NULL: not so many. */
static char *parent_folder(const char *path, unsigned levels)
{
	char *copy = arena_strdup(src_arena(), path);

	while (levels--) {
		char *slash = strrchr(copy, '/');

		if (!slash || slash == copy)
			return NULL;
		*slash = '\0';
	}
	return copy;
}

/* The release file is in the JDK; bin may be in the JRE inside it. */
static void read_release(uint32_t pid, const char *file, struct belief_texts *texts)
{
	for (unsigned levels = 2; levels <= 5; levels++) {
		const char *home = parent_folder(file, levels);
		struct text t;

		if (!home)
			return;
		if (read_inside(pid, arena_printf(src_arena(), "%s/release", home), &t) &&
		    belief_parse_release(t, &texts->version, &texts->is_other_jvm))
			return;
	}
}

static void read_node_version(uint32_t pid, const char *exe, struct belief_texts *texts)
{
	const char *prefix = parent_folder(exe, 2);
	struct text t;

	if (prefix && read_inside(pid, arena_printf(src_arena(), "%s/include/node/node_version.h",
						    prefix), &t))
		belief_parse_node_header(t, &texts->version);
}

/* Where libjvm.so is mapped from; NULL: nowhere. */
static const char *find_libjvm(uint32_t pid)
{
	static const char name[] = "/libjvm.so";
	struct text maps, line;

	if (src_readf(&maps, "proc/%u/maps", pid) < 0)
		return NULL;
	struct scan s = scan_of(maps);

	while (scan_line(&s, &line)) {
		const char *slash = line.len ? memchr(line.data, '/', line.len) : NULL;
		size_t n = slash ? (size_t)(line.data + line.len - slash) : 0;

		if (n >= sizeof(name) - 1 &&
		    !memcmp(slash + n - (sizeof(name) - 1), name, sizeof(name) - 1))
			return arena_copy(src_arena(), slash, n);
	}
	return NULL;
}

/* ---- option files ---- */

struct file_reader {
	uint32_t pid;
};

static bool read_option_file(void *arg, struct text name, struct text *content)
{
	const struct file_reader *r = arg;
	const char *path = arena_text(src_arena(), name), *folder;
	char cwd[32];

	if (!name.len || strlen(path) != name.len)
		return false;
	snprintf(cwd, sizeof(cwd), "proc/%u/cwd", r->pid);
	if (path[0] != '/') {
		/* it may have gone elsewhere since; then there is no such file most likely */
		if (src_link(cwd, &folder) < 0 || folder[0] != '/')
			return false;
		path = arena_printf(src_arena(), "%s/%s", folder, path);
	}
	return read_inside(r->pid, path, content);
}

/* ---- hsperfdata ---- */

/* The name of a user as the process knows it. */
static const char *user_name(uint32_t pid, uint64_t uid)
{
	struct text passwd, line, name, word;

	if (!read_inside(pid, "etc/passwd", &passwd))
		return uid == 0 ? "root" : NULL;
	struct scan lines = scan_of(passwd);

	while (scan_line(&lines, &line)) {
		struct scan s = scan_of(line);
		uint64_t id;

		if (scan_until(&s, ':', &name) && scan_until(&s, ':', &word) &&
		    scan_until(&s, ':', &word) && scan_all_u64(word, &id) && id == uid)
			return arena_text(src_arena(), name);
	}
	return NULL;
}

static struct text innermost(struct text nspid)
{
	struct scan s = scan_of(nspid);
	struct text last = { "", 0 };

	while (scan_word(&s, &last))
		continue;
	return last;
}

static void find_perfdata(uint32_t pid, uint64_t uid, struct text nspid, struct belief_process *p)
{
	struct text inner = innermost(nspid);
	const char *user = uid == NA_U64 ? NULL : user_name(pid, uid);

	if (!user || strchr(user, '/'))
		return;
	int n = inner.len ?
		snprintf(p->perfdata, sizeof(p->perfdata), "tmp/hsperfdata_%s/%.*s", user,
			 (int)inner.len, inner.data) :
		snprintf(p->perfdata, sizeof(p->perfdata), "tmp/hsperfdata_%s/%u", user, pid);

	if (n < 0 || (size_t)n >= sizeof(p->perfdata))
		p->perfdata[0] = '\0';
}

bool belief_read_perfdata(uint32_t pid, const struct belief_process *process,
			  struct belief_perfdata *perfdata)
{
	struct text t;

	return process->perfdata[0] && read_inside(pid, process->perfdata, &t) &&
		belief_parse_perfdata(t, perfdata) >= 0;
}

/* ---- a process ---- */

static void read_jvm(uint32_t pid, const char *exe, const char *libjvm, uint64_t uid,
		     struct text nspid, struct belief_texts *texts, struct belief_process *p)
{
	struct belief_perfdata perfdata;

	if (libjvm || exe)
		read_release(pid, libjvm ? libjvm : exe, texts);
	find_perfdata(pid, uid, nspid, p);
	if (!belief_read_perfdata(pid, p, &perfdata)) {
		p->perfdata[0] = '\0';
		return;
	}
	texts->jvm_arguments = perfdata.arguments;
	if (!texts->version.feature)
		texts->version = perfdata.version;
}

/* A file of /proc/PID, kept until the frame's end; data NULL: it can't be read. */
static struct text read_words(struct src_dir *proc, uint32_t pid, const char *name)
{
	char path[32];
	struct text t;

	snprintf(path, sizeof(path), "%u/%s", pid, name);
	if (src_dir_read(proc, path, &t) < 0)
		return (struct text){ NULL, 0 };
	return (struct text){ arena_text(src_arena(), t), t.len };
}

void belief_read_process(struct src_dir *proc, uint32_t pid, uint64_t uid, struct text nspid,
			 bool with_environment, struct belief_process *process)
{
	struct belief_process p = { .perfdata = "" };
	struct belief_texts texts = { .cmdline = { "", 0 }, .exe = { "", 0 } };
	struct file_reader reader = { pid };
	const struct belief_files files = { read_option_file, &reader };
	const char *exe = NULL, *libjvm = NULL;
	char path[32];

	snprintf(path, sizeof(path), "%u/exe", pid);
	if (src_dir_link(proc, path, &exe) >= 0)
		texts.exe = text_of(exe);
	texts.cmdline = read_words(proc, pid, "cmdline");
	if (!texts.cmdline.data)
		texts.cmdline = (struct text){ "", 0 };
	if (with_environment)
		texts.environ = read_words(proc, pid, "environ");
	struct text program = belief_program(&texts);

	if (text_is(program, "java") || belief_looks_like_jvm(texts.cmdline)) {
		if (!text_is(program, "java"))
			libjvm = find_libjvm(pid);
		texts.has_libjvm = libjvm != NULL;
		if (text_is(program, "java") || libjvm)
			read_jvm(pid, exe, libjvm, uid, nspid, &texts, &p);
	} else if (exe && (text_is(program, "node") || text_is(program, "nodejs"))) {
		read_node_version(pid, exe, &texts);
	}
	belief_parse_options(src_arena(), &texts, &files, &p.options);
	*process = p;
}
