/*
 * The kernel's types, as far as our programs look into them. Offsets come from the running kernel's
 * BTF when a program is loaded (CO-RE), so only names and nesting have to be right, not order or
 * size. A field that was renamed has one accessor here that says in which version; NAME___VERSION
 * is the same type as it was then (libbpf ignores what follows the three underscores).
 */
#ifndef BPF_KERNEL_H
#define BPF_KERNEL_H

#include <linux/bpf.h>
#include <linux/types.h>
#include <stdbool.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

/* kernel/sched/sched.h */
struct rq {
	__u64 clock; /* ns, sched_clock of this CPU; moves only while its lock is held */
	__u64 clock_task;              /* the same without time in interrupts and time stolen */
	__u64 clock_pelt; /* the same, slowed down with the CPU's frequency and capacity */
	unsigned long lost_idle_time;
	int cpu;                       /* CONFIG_SMP */
};

struct cfs_rq {
	struct rq *rq;                 /* CONFIG_FAIR_GROUP_SCHED, as tg */
	struct task_group *tg;
	int throttle_count; /* CONFIG_CFS_BANDWIDTH: how many of it and its ancestors are out of
			       quota */
	__u64 throttled_clock_self;
	__u64 throttled_clock_self_time;
};

struct cfs_rq___6_5 {
	__u64 throttled_clock_pelt;
	__u64 throttled_clock_pelt_time;
};

struct cfs_rq___5_18 {
	__u64 throttled_clock_task;
	__u64 throttled_clock_task_time;
};

/* include/linux/cgroup-defs.h, kernfs.h */
struct kernfs_node {
	__u64 id;                      /* inode number of the folder where ino_t has 64 bits */
};

struct cgroup {
	struct kernfs_node *kn;
};

struct cgroup_subsys_state {
	struct cgroup *cgroup;
};

struct css_set {
	struct cgroup *dfl_cgrp;       /* in the hierarchy of version 2 */
};

struct task_group {
	struct cgroup_subsys_state css;        /* of an autogroup: of no cgroup */
	struct cfs_rq **cfs_rq;        /* by CPU; in 7.2 struct cfs_rq *, itself per-CPU memory */
};

/* include/linux/sched.h */
struct sched_entity {
	__u64 sum_exec_runtime;        /* ns on CPUs, as of the last tick or switch */
	struct cfs_rq *cfs_rq; /* CONFIG_FAIR_GROUP_SCHED: where it is, or would be, queued */
};

struct sched_entity___6_12 {
	unsigned char sched_delayed;
};

struct sched_info {                    /* CONFIG_SCHED_INFO; kernel/sched/stats.h */
	unsigned long pcount;          /* how often it got a CPU */
	unsigned long long run_delay;  /* how long it waited for one, without a wait that goes on */
	unsigned long long last_arrival;       /* rq clock when it last got one */
	unsigned long long last_queued;        /* rq clock since when it waits; 0: it doesn't */
};

/* include/linux/pid.h */
struct pid_namespace;

struct upid {
	int nr;
	struct pid_namespace *ns;
};

struct pid {
	unsigned int level;
	struct upid numbers[1];        /* by depth of the pid namespace, level + 1 of them */
};

struct thread_info {
	__u32 status;                  /* x86: TS_ */
};

struct files_struct;

struct task_struct {
	struct thread_info thread_info;        /* CONFIG_THREAD_INFO_IN_TASK */
	struct files_struct *files;
	unsigned in_iowait : 1;
	__u64 utime, stime;            /* ns, by ticks unless CONFIG_VIRT_CPU_ACCOUNTING */
	unsigned long nvcsw;           /* switches because it had to wait */
	unsigned long maj_flt;
	int pid, tgid;
	int static_prio;               /* 120 + nice */
	int prio;                      /* below 100: realtime or deadline, lent priority included */
	unsigned int on_rq;            /* a byte in 7.2; CO-RE lets only unsigned ones shrink */
	unsigned int on_cpu;           /* CONFIG_SMP */
	struct sched_entity se;
	struct sched_info sched_info;
	struct task_group *sched_task_group;   /* CONFIG_CGROUP_SCHED */
	struct pid *thread_pid;
	unsigned long nivcsw;          /* switches although it could have run on */
	struct css_set *cgroups;       /* CONFIG_CGROUPS */
	__u64 start_boottime; /* real_start_time before 5.5, where none of our programs loads */
	unsigned int flags;            /* PF_ */
	unsigned int __state;
	int exit_state;
	char comm[16];
	struct task_struct *group_leader;
};

struct task_struct___5_13 {
	long state;
};

/* arch/.../include/asm/ptrace.h: what a thread brought into the kernel. */
#if defined(__TARGET_ARCH_x86)
struct pt_regs {
	unsigned long bp, dx, si, di, orig_ax, ip, sp;
};
#elif defined(__TARGET_ARCH_arm64)
struct pt_regs {
	__u64 regs[31], sp, pc;
	int syscallno;
};
#endif

struct task_struct___6_12 {
	struct sched_entity___6_12 se;
};

/* include/linux/fs.h */
struct super_block {
	unsigned long s_magic;
};

struct inode {
	unsigned short i_mode;
	struct super_block *i_sb;
	unsigned long i_ino;
};

struct file {
	struct inode *f_inode;
};

/* include/linux/fdtable.h */
struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

/* include/net/net_namespace.h, include/linux/ns_common.h */
struct ns_common {
	unsigned int inum;
};

struct net {
	struct ns_common ns;
};

typedef struct {
	struct net *net;               /* CONFIG_NET_NS */
} possible_net_t;

/* include/net/sock.h */
struct in6_addr {
	__u8 s6_addr[16];
};

struct sock_common {
	unsigned short skc_family, skc_num;    /* skc_num: local port, host order */
	volatile unsigned char skc_state;
	__be32 skc_daddr, skc_rcv_saddr;
	__be16 skc_dport;
	struct in6_addr skc_v6_daddr, skc_v6_rcv_saddr;
	possible_net_t skc_net;
};

struct sock {
	struct sock_common __sk_common;
};

struct request_sock {                  /* include/net/request_sock.h */
	struct sock_common __req_common;
};

/* include/linux/netdevice.h, include/net/dst.h, include/linux/skbuff.h */
struct net_device {
	possible_net_t nd_net;
	int ifindex;
	char name[16];
};

struct dst_entry {
	struct net_device *dev;
};

struct sk_buff {
	struct net_device *dev;        /* see skb_device() */
	struct sock *sk;               /* in a union with numbers until 6.6 */
	char cb[48];
	unsigned long _skb_refdst;     /* low bit: not counted */
	int skb_iif;                   /* index of the device it came by; 0: made here */
	__be16 protocol;
	unsigned char *head;
	__u16 network_header, transport_header;        /* from head */
};

/* include/net/tcp.h: in cb of what TCP sends */
struct tcp_skb_cb {
	__u16 tcp_gso_segs;
};

/* include/net/dropreason-core.h; numbers differ between kernels */
enum skb_drop_reason {
	SKB_DROP_REASON_TCP_LISTEN_OVERFLOW = 1,
};

/* include/linux/bpf.h, kernel/bpf/task_iter.c */
struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;      /* NULL behind the last one */
};

struct bpf_iter__task_file {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
	__u32 fd;
	struct file *file;             /* NULL behind the last one */
};

/* include/net: inet_hashtables.h, inet_connection_sock.h, inet_timewait_sock.h */
struct inet_bind_bucket {
	unsigned short port;
	signed char fastreuse, fastreuseport;  /* below 0: connect() made it */
};

struct inet_connection_sock {
	struct inet_bind_bucket *icsk_bind_hash;
	__u8 icsk_ca_state : 5;        /* TCP_CA_; six bits until 5.9 */
	__u8 icsk_pending;             /* ICSK_TIME_: the timer that is set */
};

struct tcp_sock {
	struct inet_connection_sock inet_conn;
};

struct inet_timewait_sock {
	struct inet_bind_bucket *tw_tb;
};

struct tcp_timewait_sock {
	struct inet_timewait_sock tw_sk;
};

struct bpf_iter__tcp {                 /* net/ipv4/tcp_ipv4.c */
	struct bpf_iter_meta *meta;
	struct sock_common *sk_common; /* NULL behind the last one */
};

#pragma clang attribute pop

#define PF_KTHREAD 0x00200000u         /* include/linux/sched.h */

static __always_inline unsigned int task_state(const struct task_struct *task)
{
	const struct task_struct___5_13 *earlier = (const void *)task;

	return bpf_core_field_exists(task->__state) ? task->__state : (unsigned int)earlier->state;
}

/*
 * Its number in the pid namespace that lies so deep, and that namespace's address; 0 if it has
 * none. numbers[] was an array of one until 6.5, then of no size: count from its start.
 */
static __always_inline const char *pid_at(struct pid *pid, __u32 level)
{
	if (!pid || BPF_CORE_READ(pid, level) < level)
		return NULL;
	return (const char *)__builtin_preserve_access_index(&pid->numbers) +
		level * bpf_core_type_size(struct upid);
}

static __always_inline int pid_nr(struct pid *pid, __u32 level)
{
	const char *at = pid_at(pid, level);
	int nr = 0;

	if (at)
		bpf_probe_read_kernel(&nr, sizeof(nr), at);
	return nr;
}

static __always_inline __u64 pid_namespace(struct pid *pid, __u32 level)
{
	const char *at = pid_at(pid, level);
	__u64 address = 0;

	if (at)
		bpf_probe_read_kernel(&address, sizeof(address),
				      at + bpf_core_field_offset(struct upid, ns));
	return address;
}

/* System call number and first arguments of a thread in the kernel; x86-64 and arm64. */
#if defined(__TARGET_ARCH_x86)
#define REGS_SYSCALL(r) ((r)->orig_ax)
#define REGS_ARG1(r) ((r)->di)
#define REGS_ARG2(r) ((r)->si)
#define REGS_ARG3(r) ((r)->dx)
#define REGS_IP(r) ((r)->ip)
#define REGS_SP(r) ((r)->sp)
#define REGS_FP(r) ((r)->bp)
#define SYSCALL_FUTEX 202
#elif defined(__TARGET_ARCH_arm64)
#define REGS_SYSCALL(r) ((unsigned long)(r)->syscallno)
#define REGS_ARG1(r) ((r)->regs[0])
#define REGS_ARG2(r) ((r)->regs[1])
#define REGS_ARG3(r) ((r)->regs[2])
#define REGS_IP(r) ((r)->pc)
#define REGS_SP(r) ((r)->sp)
#define REGS_FP(r) ((r)->regs[29])
#define SYSCALL_FUTEX 98
#endif

/*
 * On a run queue, running or waiting. 6.12 leaves a task that goes to sleep queued for a while and
 * marks it sched_delayed. Read with the lock of its run queue held: then, unlike the state, nothing
 * races.
 */
static __always_inline bool task_is_runnable(const struct task_struct *task)
{
	const struct task_struct___6_12 *later = (const void *)task;

	if (bpf_core_field_exists(later->se.sched_delayed) && later->se.sched_delayed)
		return false;
	return task->on_rq != 0;
}

/* In io_schedule(). */
static __always_inline bool task_waits_for_io(const struct task_struct *task)
{
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wpointer-arith"
	return BPF_CORE_READ_BITFIELD(task, in_iowait);
#pragma clang diagnostic pop
}

/* Byte by byte: no helper, which lockdown may forbid. */
static __always_inline void task_copy_comm(char to[16], const struct task_struct *task)
{
#pragma unroll
	for (int i = 0; i < 16; i++)
		to[i] = task->comm[i];
}

/* The control group that has it: in version 2's hierarchy, or that of version 1 with the cpu
 * controller (the root, 1, for an autogroup). */
static __always_inline __u64 task_cgroup_id(struct task_struct *task, bool is_unified)
{
	struct cgroup *group = is_unified ? task->cgroups->dfl_cgrp :
		task->sched_task_group->css.cgroup;

	return group ? group->kn->id : 1;
}

#define KERNEL_GET(by_copy, p, field) ((by_copy) ? BPF_CORE_READ(p, field) : (p)->field)

/*
 * For how long this run queue of one group on one CPU has been out of quota, its own or an
 * ancestor's, up to `now` on its CPU's rq clock. Only differences mean anything, and only for a
 * thread that was waiting in it all the time between. 0: it never was.
 *   6.6 and later: throttled_clock_self_time, on the rq clock. It starts when the first thread has
 *     to wait for quota (6.18: is put aside on its way to user space), not when quota runs out.
 *   5.19 to 6.5: throttled_clock_pelt_time, whose clock runs slow when the CPU does.
 *   to 5.18: throttled_clock_task_time, whose clock leaves out interrupts and stolen time.
 * by_copy: cfs_rq is only an address, not a pointer the verifier vouches for.
 */
static __always_inline __u64 cfs_rq_throttled_ns(struct cfs_rq *cfs_rq, __u64 now, bool by_copy)
{
	struct cfs_rq___6_5 *earlier = (void *)cfs_rq;
	struct cfs_rq___5_18 *earliest = (void *)cfs_rq;
	__u64 total, since;

	if (bpf_core_field_exists(cfs_rq->throttled_clock_self_time)) {
		total = KERNEL_GET(by_copy, cfs_rq, throttled_clock_self_time);
		since = KERNEL_GET(by_copy, cfs_rq, throttled_clock_self);
		return since && now > since ? total + (now - since) : total;
	}
	struct rq *rq = KERNEL_GET(by_copy, cfs_rq, rq);

	/* onto the slower clock: right for now == rq->clock, near enough soon after */
	now -= KERNEL_GET(by_copy, rq, clock);
	if (bpf_core_field_exists(earlier->throttled_clock_pelt_time)) {
		now += KERNEL_GET(by_copy, rq, clock_pelt) -
		       KERNEL_GET(by_copy, rq, lost_idle_time);
		total = KERNEL_GET(by_copy, earlier, throttled_clock_pelt_time);
		since = KERNEL_GET(by_copy, earlier, throttled_clock_pelt);
	} else {
		now += KERNEL_GET(by_copy, rq, clock_task);
		total = KERNEL_GET(by_copy, earliest, throttled_clock_task_time);
		since = KERNEL_GET(by_copy, earliest, throttled_clock_task);
	}
	if (KERNEL_GET(by_copy, cfs_rq, throttle_count) && now > since)
		total += now - since;
	return total;
}

/* The fair scheduler has it: neither realtime nor deadline, which no CFS quota holds back. */
static __always_inline bool task_is_fair(const struct task_struct *task)
{
	return task->prio >= 100;
}

static __always_inline bool cfs_rq_is_of(struct cfs_rq *cfs_rq, struct task_group *group, int cpu)
{
	return cfs_rq && BPF_CORE_READ(cfs_rq, tg) == group &&
		BPF_CORE_READ(cfs_rq, rq, cpu) == cpu;
}

/*
 * The run queue that task's group has on another CPU, as an address, or NULL. CO-RE can't tell
 * which of the two layouts of struct task_group this is, but what is found says whose it is. apart:
 * how far per-CPU memory of that CPU is from that of task's; 0: not known.
 */
static __always_inline struct cfs_rq *cfs_rq_on(struct task_struct *task, int cpu, __u64 apart)
{
	struct task_group *group = task->sched_task_group;
	struct cfs_rq **all = BPF_CORE_READ(group, cfs_rq), *there = NULL;

	bpf_core_read(&there, sizeof(there), all + cpu);
	if (cfs_rq_is_of(there, group, cpu))
		return there;
	there = (void *)((__u64)BPF_CORE_READ(task, se.cfs_rq) + apart);
	return apart && cfs_rq_is_of(there, group, cpu) ? there : NULL;
}

/*
 * Pointers of packets stand in unions: where a packet's device is, a queue's tree or a socket's
 * bookkeeping may be (struct udp_dev_scratch, whose highest bit is never set, unlike the kernel's
 * addresses'). What such an address leads to is believed only if it has a namespace's number,
 * which begin at PROC_DYNAMIC_FIRST (fs/proc/generic.c), from 6.18 on a few below it for the first
 * namespaces (include/uapi/linux/nsfs.h).
 */
#define IS_KERNEL_ADDRESS(p) ((__s64)(p) < 0)

static __always_inline bool is_netns_number(__u32 inum)
{
	return inum >= 0xeffffff0u && inum < 0xf4000000u;
}

/* Its device, and the number of that one's namespace; NULL: none, or none that can be believed. */
static __always_inline struct net_device *skb_device(struct sk_buff *skb, __u32 *netns)
{
	struct net_device *dev = skb->dev;

	if (!IS_KERNEL_ADDRESS(dev) || dev->ifindex <= 0)
		return NULL;
	const __u32 inum = dev->nd_net.net->ns.inum;

	if (!is_netns_number(inum))
		return NULL;
	*netns = inum;
	return dev;
}

/* Without a device, by its socket or (may_copy) its route; 0: not known. */
static __always_inline __u32 skb_netns(struct sk_buff *skb, bool may_copy)
{
	struct sock *sk = skb->sk;
	__u32 inum = 0;

	if (!sk)
		goto by_route;
	barrier_var(sk);               /* the verifier wants that comparison as well as the next */
	if (IS_KERNEL_ADDRESS(sk))
		inum = sk->__sk_common.skc_net.net->ns.inum;
	if (is_netns_number(inum))
		return inum;
by_route:
	inum = 0;
	const unsigned long route = skb->_skb_refdst & ~1ul;
	struct dst_entry *dst = (struct dst_entry *)route;

	if (may_copy && IS_KERNEL_ADDRESS(route))
		inum = BPF_CORE_READ(dst, dev, nd_net.net, ns.inum);
	return is_netns_number(inum) ? inum : 0;
}

/* TCP_CA_ (include/uapi/linux/tcp.h) of a TCP socket that is only an address to the verifier. */
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wpointer-arith" /* libbpf's macro adds to a void pointer */
static __always_inline __u8 congestion_state(const struct inet_connection_sock *c)
{
	return (__u8)BPF_CORE_READ_BITFIELD_PROBED(c, icsk_ca_state);
}
#pragma clang diagnostic pop

#endif
