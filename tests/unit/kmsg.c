#include "common/kernel/kmsg.h"

#include <errno.h>

#include "common/base/fail.h"
#include "tests/unit/cut.h"
#include "tests/unit/scratch.h"

static struct arena arena;

/* Kernels 3.10 to 6.x in their own words. */
static const struct {
	enum kmsg_kind kind;
	const char *line;
} lines[] = {
	{ KMSG_OOM, "java invoked oom-killer: gfp_mask=0xd0, order=0, oom_score_adj=0" },
	{ KMSG_OOM, "a) b invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0" },
	{ KMSG_OOM, "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,"
	  "oom_memcg=/a,task_memcg=/a/b,task=hog,pid=91,uid=0" },
	{ KMSG_OOM, "Memory cgroup out of memory: Killed process 91 (hog) total-vm:52100kB, "
	  "anon-rss:31000kB, file-rss:900kB, shmem-rss:0kB, UID:0 pgtables:100kB oom_score_adj:0" },
	{ KMSG_OOM, "Out of memory: Kill process 91 (hog) score 900 or sacrifice child" },
	{ KMSG_OOM, "Killed process 91 (hog) total-vm:52100kB, anon-rss:31000kB, file-rss:900kB" },
	{ KMSG_OOM, "Out of memory (oom_kill_allocating_task): Killed process 1 (x)" },
	{ KMSG_OOM, "Task in /v killed as a result of limit of /l" },
	{ KMSG_OOM, "Tasks in /a are going to be killed due to memory.oom.group set" },
	{ KMSG_OOM, "oom_reaper: reaped process 91 (hog), now anon-rss:0kB, file-rss:0kB" },
	{ KMSG_CONNTRACK_FULL, "nf_conntrack: table full, dropping packet" },
	{ KMSG_CONNTRACK_FULL, "nf_conntrack: nf_conntrack: table full, dropping packet" },
	{ KMSG_CONNTRACK_FULL, "nf_conntrack: table full in netns 4026531840, dropping packet" },
	{ KMSG_CONNTRACK_FULL, "ip_conntrack: table full, dropping packet." },
	{ KMSG_SYN_FLOOD, "TCP: request_sock_TCP: Possible SYN flooding on port 80. "
	  "Sending cookies." },
	{ KMSG_SYN_FLOOD, "TCP: request_sock_TCP: Possible SYN flooding on port [::]:80. "
	  "Dropping request." },
	{ KMSG_SYN_FLOOD, "possible SYN flooding on port 80. Sending cookies." },
	{ KMSG_TIME_WAIT_OVERFLOW, "TCP: time wait bucket table overflow" },
	{ KMSG_NEIGHBOUR_FULL, "neighbour: arp_cache: neighbor table overflow!" },
	{ KMSG_NEIGHBOUR_FULL, "ipv4: Neighbour table overflow." },
	{ KMSG_NETDEV_WATCHDOG, "NETDEV WATCHDOG: eth0 (e1000): transmit queue 0 timed out" },
	{ KMSG_NETDEV_WATCHDOG, "e1000 0000:00:03.0 eth0: NETDEV WATCHDOG: CPU: 3: "
	  "transmit queue 0 timed out 5010 ms" },
	{ KMSG_HUNG_TASK, "INFO: task kworker/0:1:12 blocked for more than 120 seconds." },
	{ KMSG_HUNG_TASK, "INFO: task x y:5 is blocked on a mutex likely owned by task z:6." },
	{ KMSG_SOFT_LOCKUP, "watchdog: BUG: soft lockup - CPU#0 stuck for 22s! [x:1]" },
	{ KMSG_SOFT_LOCKUP, "BUG: soft lockup - CPU#3 stuck for 23s! [x:1]" },
	{ KMSG_HARD_LOCKUP, "NMI watchdog: Watchdog detected hard LOCKUP on cpu 3" },
	{ KMSG_HARD_LOCKUP, "watchdog: CPU2: Watchdog detected hard LOCKUP on cpu 3" },
	{ KMSG_MCE, "mce: [Hardware Error]: Machine check events logged" },
	{ KMSG_MCE, "{1}[Hardware Error]: event severity: corrected" },
	{ KMSG_MCE, "Machine check events logged" },
	{ KMSG_IO_ERROR, "blk_update_request: I/O error, dev sda, sector 1234 op 0x0:(READ)" },
	{ KMSG_IO_ERROR, "print_req_error: I/O error, dev sda, sector 1234" },
	{ KMSG_IO_ERROR, "end_request: I/O error, dev sda, sector 1234" },
	{ KMSG_IO_ERROR, "critical medium error, dev sda, sector 1234 op 0x0:(READ)" },
	{ KMSG_IO_ERROR, "Buffer I/O error on dev sda1, logical block 5, async page read" },
	{ KMSG_FILE_SYSTEM, "EXT4-fs error (device sda1): ext4_find_entry:1455: inode #2" },
	{ KMSG_FILE_SYSTEM, "EXT4-fs (sda1): Remounting filesystem read-only" },
	{ KMSG_FILE_SYSTEM, "Aborting journal on device sda1-8." },
	{ KMSG_FILE_SYSTEM, "XFS (dm-0): Metadata corruption detected at xfs_agf_read" },
	{ KMSG_FILE_SYSTEM, "XFS (sda1): log I/O error -5" },
	{ KMSG_FILE_SYSTEM, "BTRFS error (device sda1): bad tree block start" },
	{ KMSG_FILE_SYSTEM, "BTRFS info (device sda1): forced readonly" },
	/* near, and not it */
	{ KMSG_OTHER, "TCP: out of memory -- consider tuning tcp_mem" },
	{ KMSG_OTHER, "TCP: too many orphaned sockets" },
	{ KMSG_OTHER, "NMI watchdog: Enabled. Permanently consumes one hw-PMU counter." },
	{ KMSG_OTHER, "mce: CPU0: Thermal monitoring enabled (TM1)" },
	{ KMSG_OTHER, "MCE: In-kernel MCE decoding enabled." },
	{ KMSG_OTHER, "EXT4-fs (vda): mounted filesystem r/w without journal. Quota mode: none." },
	{ KMSG_OTHER, "EXT4-fs (sda1): re-mounted. Opts: errors=remount-ro" },
	{ KMSG_OTHER, "XFS (dm-0): Unmounting Filesystem" },
	{ KMSG_OTHER, "INFO: task list" },
	{ KMSG_OTHER, "Command line: BOOT_IMAGE=/vmlinuz ro quiet hung_task_panic=0" },
	{ KMSG_OTHER, "xoom-kill:" },
	{ KMSG_OTHER, "" },
	{ KMSG_OTHER, "[" },
};

static void test_kinds(void)
{
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		const struct text t = text_of(lines[i].line);

		CHECK_STR(kmsg_kind_name(kmsg_classify(t)), kmsg_kind_name(lines[i].kind));
		EACH_CUT(n, t)
			kmsg_classify(cut(t, n));
	}
	for (enum kmsg_kind k = 0; k < KMSG_KINDS; k++)
		CHECK(kmsg_kind_name(k) && *kmsg_kind_name(k));
}

#define RECORD "6,1,123456,-,caller=T1;pci 0000:00:01.0: BAR 1 \\x0a two \\x5c back\n" \
	" SUBSYSTEM=pci\n" \
	" DEVICE=+pci:0000:00:01.0"

static const struct text raw = TEXT(
	"5,0,0,-;Linux version 6.12.0 (builder@host)\n"
	RECORD "\n"
	"4,5,2000000,c;Out of memory: Killed process 9 (a b) total-vm:1kB\n"
	"30,6,3000000,-;systemd[1]: Out of memory: not the kernel's word\n"
	"3,7,4000000,-,caller=C0,tomorrow=1;nf_conntrack: table full, dropping packet\n");

static void start(struct kmsg_reader *r, struct text content)
{
	kmsg_start(r, &arena, content);
	CHECK(r->boot_realtime_ns == NA_U64);  /* no frame, no clock */
	r->boot_realtime_ns = 1000;
}

static void test_raw(void)
{
	struct kmsg_reader r;
	struct kmsg_record m;

	start(&r, raw);
	CHECK(kmsg_next(&r, &m) == 1 && m.sequence == 0 && m.boot_ns == 0 && m.priority == 5);
	CHECK(text_is(m.text, "Linux version 6.12.0 (builder@host)"));
	CHECK(text_is(m.raw, "5,0,0,-;Linux version 6.12.0 (builder@host)"));
	CHECK(kmsg_next(&r, &m) == 1 && m.sequence == 1 && m.boot_ns == 123456000);
	CHECK(m.realtime_ns == 123457000 && m.kind == KMSG_OTHER);
	CHECK(text_is(m.text, "pci 0000:00:01.0: BAR 1 \n two \\ back"));
	CHECK(m.raw.len == strlen(RECORD) && !memcmp(m.raw.data, RECORD, m.raw.len));
	CHECK(r.lost == 0);
	CHECK(kmsg_next(&r, &m) == 1 && m.kind == KMSG_OOM && m.priority == 4);
	CHECK(r.lost == 3);
	CHECK(kmsg_next(&r, &m) == 1 && m.priority == 30 && m.kind == KMSG_OTHER);
	CHECK(kmsg_next(&r, &m) == 1 && m.kind == KMSG_CONNTRACK_FULL);
	m.sequence = 99;
	CHECK(kmsg_next(&r, &m) == 0 && kmsg_next(&r, &m) == 0 && m.sequence == 99);
	CHECK(r.garbled == 0 && r.lost == 3);
	EACH_CUT(n, raw) {
		unsigned count = 0;

		start(&r, cut(raw, n));
		while (kmsg_next(&r, &m) == 1)
			count++;
		CHECK(count <= 5 && r.garbled <= 1);
	}
}

static void test_garbled(void)
{
	struct kmsg_reader r;
	struct kmsg_record m;

	start(&r, TEXT("rest of a line\n DEVICE=x\n6,10,5,-;a\nno header\n6,9,6\n6,x,7,-;b\n"
		       "-1,1,1,-;c\n99999,1,1,-;d\n6,18446744073709551616,1,-;e\n"
		       "6,4,9,-;f\\x0\\xzz\\x41\\\n"
		       "6,18446744073709551615,18446744073709551615,-;g"));
	CHECK(r.is_raw);
	CHECK(kmsg_next(&r, &m) == 1 && text_is(m.text, "a") && r.garbled == 2);
	CHECK(kmsg_next(&r, &m) == 1 && text_is(m.text, "f\\x0\\xzzA\\") && r.garbled == 8);
	CHECK(r.lost == 0);                    /* backwards: another boot */
	CHECK(kmsg_next(&r, &m) == 1 && text_is(m.text, "g") && m.boot_ns == NA_U64);
	CHECK(m.realtime_ns == NA_U64);
	CHECK(kmsg_next(&r, &m) == 0);
	start(&r, TEXT(""));
	CHECK(kmsg_next(&r, &m) == 0);
}

static void test_plain(void)
{
	struct kmsg_reader r;
	struct kmsg_record m;

	start(&r, TEXT("[    0.000000] Linux version 6.1\n\n[12345.678901] Killed process 9 (x) y\n"
		       "<4>[    1.5][  T123] INFO: task a:1 blocked for more than 120 seconds.\n"
		       "[Tue Oct  3 12:00:00 2023] mce: [Hardware Error]: Machine check\n"
		       "just text\n<30>[ 9.0] systemd[1]: Out of memory\n"
		       "[ 99999999999999999999.1] x\n[18446744073.9] y"));
	CHECK(!r.is_raw);
	CHECK(kmsg_next(&r, &m) == 1 && m.boot_ns == 0 && m.sequence == NA_U64 && m.priority == 6);
	CHECK(text_is(m.text, "Linux version 6.1"));
	CHECK(kmsg_next(&r, &m) == 1 && m.boot_ns == 12345678901000 && m.kind == KMSG_OOM);
	CHECK(m.realtime_ns == 12345678902000 && text_is(m.text, "Killed process 9 (x) y"));
	CHECK(kmsg_next(&r, &m) == 1 && m.priority == 4 && m.boot_ns == 1500000000);
	CHECK(m.kind == KMSG_HUNG_TASK && text_starts(m.text, "INFO: task a:1"));
	CHECK(kmsg_next(&r, &m) == 1 && m.boot_ns == NA_U64 && m.kind == KMSG_MCE);
	CHECK(m.realtime_ns == NA_U64);
	CHECK(kmsg_next(&r, &m) == 1 && text_is(m.text, "just text"));
	CHECK(kmsg_next(&r, &m) == 1 && m.priority == 30 && m.kind == KMSG_OTHER);
	CHECK(kmsg_next(&r, &m) == 1 && m.boot_ns == NA_U64);
	CHECK(kmsg_next(&r, &m) == 1 && m.boot_ns == NA_U64);
	CHECK(kmsg_next(&r, &m) == 0 && r.lost == 0 && r.garbled == 0);
}

/* The clock says 1000 s, the machine is up 100 s: what was logged at 1 s is from 901 s. */
static void test_read(void)
{
	struct kmsg_reader r;
	struct kmsg_record m;
	struct text log;

	make("k");
	make("k/dev");
	make("k/proc");
	put_text("k/manifest", "clock\t1000000000000\t5\n");
	put_text("k/proc/uptime", "100.00 180.12\n");
	put("k/dev/kmsg", raw.data, raw.len);
	open_root("k");
	CHECK(kmsg_read(&log) == 0 && log.len == raw.len);
	kmsg_start(&r, src_arena(), log);
	CHECK(kmsg_next(&r, &m) == 1 && m.realtime_ns == 900000000000);
	close_all();
	put_text("k/manifest", "error\tdev/kmsg\tEPERM\n");
	open_root("k");
	CHECK(kmsg_read(&log) == -EPERM && strstr(fail_text(), "CAP_SYSLOG"));
	close_all();
}

int main(void)
{
	if (!scratch_begin("kmsg"))
		return 1;
	test_read();
	scratch_end();
	test_kinds();
	test_raw();
	test_garbled();
	test_plain();
	arena_free(&arena);
	return check_done("kmsg");
}
