/*
 * The sockets all processes hold, and the namespaces, out of their descriptor tables. A socket is
 * known by its inode's mode: its file operations have no address that user space may know.
 */
#include "bpf/kernel.h"
#include "bpf/sockowner.h"

char LICENSE[] SEC("license") = "GPL";

/* include/uapi/linux/stat.h, magic.h */
#define S_IFMT 0170000
#define S_IFSOCK 0140000
#define NSFS_MAGIC 0x6e736673

/* The reader is in a pid namespace. If not, no memory is copied, which lockdown may forbid. */
const volatile bool is_nested = true;

/* The process's number where the reader is; numbers[] has one for each pid namespace it is in. */
static __always_inline __u32 pid_of(struct task_struct *leader)
{
	int nr = leader->pid;
	struct pid *pid;

	if (is_nested) {
		__u32 level = bpf_get_current_task_btf()->thread_pid->level;

		/* of length one until 6.5, then of none: count from its start */
		bpf_core_read(&pid, sizeof(pid), &leader->thread_pid);
		const char *numbers = (const char *)__builtin_preserve_access_index(&pid->numbers);

		bpf_probe_read_kernel(&nr, sizeof(nr),
				      numbers + level * bpf_core_type_size(struct upid));
	}
	return (__u32)nr;
}

SEC("iter/task_file")
int each_file(struct bpf_iter__task_file *ctx)
{
	struct task_struct *task = ctx->task;
	struct file *file = ctx->file;
	struct sockowner_row row = {};

	if (!task || !file)
		return 0;
	/* threads share their process's table, or it isn't in /proc/PID/fd */
	if (task->pid != task->tgid)
		return 0;
	struct inode *inode = file->f_inode;

	if ((inode->i_mode & S_IFMT) == S_IFSOCK)
		row.kind = SOCKOWNER_SOCKET;
	else if (inode->i_sb->s_magic == NSFS_MAGIC)
		row.kind = SOCKOWNER_NAMESPACE;
	else
		return 0;
	row.inode = inode->i_ino;
	row.pid = pid_of(task);
	row.fd = ctx->fd;
	bpf_seq_write(ctx->meta->seq, &row, sizeof(row));
	return 0;
}
