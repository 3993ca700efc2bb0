/* Well-known functions of the kernel: what is going on where they are wide, and what looks closer.
 * Names are those of kernels 4.18 to 6.18; what a kernel lacks costs nothing. */
#include <string.h>

#include "applets/flamefold/flamefold.h"
#include "common/base/text.h"

static const struct hint hints[] = {
	{ "__inet_check_established", "looking for a free local port", "portrange" },
	{ "__inet_hash_connect", "looking for a free local port", "portrange" },
	{ "__inet6_check_established", "looking for a free local port", "portrange" },
	{ "inet_csk_get_port", "looking for a port to bind", "portrange" },
	{ "inet_csk_find_open_port", "looking for a port to bind", "portrange" },
	{ "nf_conntrack_in", "connection tracking", "conntrack-top" },
	{ "__nf_conntrack_find_get", "connection tracking: long hash chains", "conntrack-top" },
	{ "nf_conntrack_tuple_taken", "source NAT looks for a free port",
	  "conntrack-top, portrange" },
	{ "nf_nat_l4proto_unique_tuple", "source NAT looks for a free port",
	  "conntrack-top, portrange" },
	{ "early_drop", "connection tracking is full", "conntrack-top" },
	{ "nft_do_chain", "firewall rules", "netpath" },
	{ "ipt_do_table", "firewall rules", "netpath" },
	{ "br_nf_pre_routing", "a bridge's packets go through the firewall", "netpath" },
	{ "net_rx_action", "receiving packets", "netpath, irqbind" },
	{ "__napi_poll", "receiving packets", "netpath, irqbind" },
	{ "napi_gro_receive", "receiving packets", "netpath, irqbind" },
	{ "process_backlog", "packets of loopback, veth or RPS", "netpath" },
	{ "ksoftirqd", "soft interrupts have fallen behind", "netpath, irqbind" },
	{ "tcp_v4_syn_recv_sock", "accepting connections", "listenq" },
	{ "tcp_conn_request", "accepting connections", "listenq" },
	{ "reqsk_timer_handler", "handshakes that do not end", "listenq" },
	{ "tcp_retransmit_timer", "segments were lost", "netpath" },
	{ "__udp4_lib_rcv", "receiving UDP", "netpath" },
	{ "native_queued_spin_lock_slowpath", "waiting for a spin lock", "offcpu" },
	{ "__pv_queued_spin_lock_slowpath", "waiting for a spin lock", "offcpu" },
	{ "queued_write_lock_slowpath", "waiting for a read-write lock", "offcpu" },
	{ "rwsem_down_read_slowpath", "waiting for a semaphore (often mmap_lock)", "offcpu" },
	{ "rwsem_down_write_slowpath", "waiting for a semaphore (often mmap_lock)", "offcpu" },
	{ "rwsem_optimistic_spin", "spinning for a semaphore (often mmap_lock)", "offcpu" },
	{ "mutex_spin_on_owner", "spinning for a mutex", "offcpu" },
	{ "osq_lock", "many spin for a mutex or a semaphore", "offcpu" },
	{ "futex_wake", "user space locks and condition variables", "offcpu" },
	{ "futex_wait", "user space locks and condition variables", "offcpu" },
	{ "try_to_free_mem_cgroup_pages", "memory reclaimed for a cgroup's limit", "oomcheck" },
	{ "try_to_free_pages", "memory reclaimed by who needs it", "oomcheck" },
	{ "shrink_node", "memory reclaimed", "oomcheck" },
	{ "mem_cgroup_handle_over_high", "held back at a cgroup's memory.high", "oomcheck" },
	{ "__mem_cgroup_handle_over_high", "held back at a cgroup's memory.high", "oomcheck" },
	{ "try_charge_memcg", "charging memory to a cgroup", "oomcheck" },
	{ "compact_zone", "memory compacted for huge pages", "oomcheck" },
	{ "migrate_pages", "pages moved (NUMA balancing, compaction)", "oomcheck" },
	{ "do_numa_page", "NUMA balancing", "oomcheck" },
	{ "clear_huge_page", "huge pages cleared at first touch",
	  "flamefold --record -e page-faults" },
	{ "asm_exc_page_fault", "page faults", "flamefold --record -e page-faults" },
	{ "schedule", "many context switches", "flamefold --record -e context-switches, offcpu" },
	{ "throttle_cfs_rq", "CPU quota of a cgroup", "cpuwait" },
	{ "distribute_cfs_runtime", "CPU quota of a cgroup", "cpuwait" },
	{ "sched_balance_rq", "balancing CPUs", "cpuwait" },
	{ "load_balance", "balancing CPUs", "cpuwait" },
	{ "blk_mq_submit_bio", "disk requests", "offcpu" },
	{ "jbd2_log_wait_commit", "waiting for the file system's journal", "offcpu" },
	{ "acpi_idle_do_entry", "idle", "cpuwait" },
};

const struct hint *hint_of(struct text function)
{
	if (function.len > 4 && !memcmp(function.data + function.len - 4, "_[k]", 4))
		function.len -= 4;
	for (size_t i = 0; i < sizeof(hints) / sizeof(*hints); i++)
		if (text_is(function, hints[i].function))
			return &hints[i];
	return NULL;
}
