#include "common/kernel/oomlog.h"

#include "common/kernel/memcg.h"
#include "tests/unit/check.h"
#include "tests/unit/cut.h"

#define KB 1024ull
#define PAGES(n) ((n) * 4096ull)

static struct arena arena;

/* As Linux 6.18 wrote it (cgroup v1), less the lines that say nothing. */
static const struct text recorded = TEXT(
	"4,340,1275848101,-;we) ird invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, "
	"oom_score_adj=0\n"
	"4,341,1275848110,-;CPU: 1 UID: 0 PID: 8803 Comm: we) ird Not tainted 6.18.44 #1 "
	"PREEMPT(none) \n"
	"4,342,1275848180,-;Call Trace:\n"
	"4,343,1275848182,-; <TASK>\n"
	"4,344,1275848190,-; dump_stack_lvl+0x57/0x80\n"
	"6,345,1275848202,-;memory: usage 32768kB, limit 32768kB, failcnt 63\n"
	"6,346,1275848204,-;memory+swap: usage 32768kB, limit 9007199254740988kB, failcnt 0\n"
	"6,347,1275848205,-;kmem: usage 204kB, limit 9007199254740988kB, failcnt 0\n"
	"6,348,1275848207,-;Memory cgroup stats for /perfbox-test/a:\n"
	"6,349,1275848254,-;cache 8192\n"
	"6,350,1275848257,-;rss 33337344\n"
	"6,351,1275848259,-;shmem 4096\n"
	"6,352,1275848297,-;hierarchical_memory_limit 33554432\n"
	"6,353,1275848299,-;total_cache 8192\n"
	"6,354,1275848300,-;total_rss 33337344\n"
	"6,355,1275848302,-;total_shmem 4096\n"
	"6,356,1275848356,-;Tasks state (memory values in pages):\n"
	"6,357,1275848358,-;[  pid  ]   uid  tgid total_vm      rss rss_anon rss_file rss_shmem "
	"pgtables_bytes swapents oom_score_adj name\n"
	"6,358,1275848361,-;[   8802]     0  8802      732      409        0      409         0    "
	"40960        0          -500 timeout\n"
	"6,359,1275848366,-;[   8803]     0  8803     8472     8233     8096      137         0   "
	"106496        0             0 we) ird\n"
	"6,360,1275848370,-;oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,"
	"mems_allowed=0,oom_memcg=/perfbox-test/a,task_memcg=/perfbox-test/a,task=we) ird,"
	"pid=8803,uid=0\n"
	"3,361,1275848398,-;Memory cgroup out of memory: Killed process 8803 (we) ird) "
	"total-vm:33888kB, anon-rss:32384kB, file-rss:548kB, shmem-rss:0kB, UID:0 pgtables:104kB "
	"oom_score_adj:0\n");

static struct oomlog read_log(struct text t)
{
	struct oomlog log;

	oomlog_start(&log, &arena);
	oomlog_text(&log, t);
	return log;
}

static void test_recorded(void)
{
	struct oomlog log = read_log(recorded);
	const struct oom_kill *k = log.kills;

	if (!CHECK(log.count == 1))
		return;
	CHECK(k->killer == OOM_BY_KERNEL && k->constraint == OOM_MEMCG && !k->is_void);
	CHECK(k->sequence == 360 && k->boot_ns == 1275848370000 && k->realtime_ns == NA_U64);
	CHECK(k->pid == 8803 && k->uid == 0 && k->oom_score_adj == 0);
	CHECK_STR(k->comm, "we) ird");
	CHECK_STR(k->invoker, "we) ird");
	CHECK(k->invoker_pid == 8803);
	CHECK_STR(k->cgroup, "/perfbox-test/a");
	CHECK_STR(k->limited_by, "/perfbox-test/a");
	CHECK(k->total_vm_bytes == 33888 * KB && k->anon_bytes == 32384 * KB);
	CHECK(k->file_bytes == 548 * KB && k->shmem_bytes == 0 && k->pgtables_bytes == 104 * KB);
	CHECK(k->memory.usage_bytes == 32768 * KB && k->memory.limit_bytes == 32768 * KB);
	CHECK(k->memory.failcnt == 63 && k->kmem.usage_bytes == 204 * KB);
	CHECK(k->memsw.limit_bytes == MEMCG_NONE && k->swap.usage_bytes == NA_U64);
	CHECK(k->memcg_anon_bytes == 33337344 && k->memcg_file_bytes == 4096 &&
	      k->memcg_shmem_bytes == 4096);
	CHECK(k->task_count == 1 && k->tasks[0].pid == 8802 && k->tasks[0].uid == 0 &&
	      k->tasks[0].rss_bytes == PAGES(409) && k->tasks[0].oom_score_adj == -500);
	CHECK_STR(k->tasks[0].comm, "timeout");
	CHECK(log.lost == 0 && log.garbled == 0 && log.first_sequence == 340 && log.lines == 22);

	/* the same log again has nothing new, and one more line is one more */
	oomlog_text(&log, recorded);
	CHECK(log.count == 1 && log.lost == 0);
	oomlog_text(&log, TEXT("3,363,1275848500,-;Killed process 5 (x) total-vm:4kB, "
			       "anon-rss:1kB, file-rss:2kB\n"));
	CHECK(log.count == 2 && log.lost == 1 && log.kills[1].cgroup == NULL);
	oomlog_free(&log);
}

/* What a cut log says is what the whole one says, or less. */
static void test_cut(void)
{
	const size_t facts = (size_t)((const char *)memmem(recorded.data, recorded.len,
							   ",uid=0\n", 7) - recorded.data);

	EACH_CUT(n, recorded) {
		struct oomlog log = read_log(cut(recorded, n));

		CHECK(log.count == (n >= facts + 5));
		if (log.count)
			CHECK(log.kills[0].pid == 8803 &&
			      !strcmp(log.kills[0].cgroup, "/perfbox-test/a"));
		oomlog_free(&log);
		/* the other end */
		log = read_log((struct text){ recorded.data + n, recorded.len - n });
		CHECK(log.count <= 1);
		if (log.count)
			CHECK(log.kills[0].pid == 8803 && !strcmp(log.kills[0].comm, "we) ird"));
		oomlog_free(&log);
		arena_reset(&arena);
	}
}

/* One line alone. */
static void test_lines(void)
{
	static const struct {
		const char *line, *comm;
		uint64_t pid, uid, anon_kb, shmem_kb;
		enum oom_constraint constraint;
	} all[] = {
		{ "Killed process 9 (a b) total-vm:100kB, anon-rss:50kB, file-rss:8kB", "a b", 9,
		  NA_U64, 50, NA_U64, OOM_UNKNOWN },
		{ "Killed process 9 (a), UID 48, total-vm:100kB, anon-rss:50kB, file-rss:8kB, "
		  "shmem-rss:3kB", "a", 9, 48, 50, 3, OOM_UNKNOWN },
		{ "Killed process 9 (a) total-vm:100kB, anon-rss:50kB, file-rss:8kB, shmem-rss:3kB",
		  "a", 9, NA_U64, 50, 3, OOM_UNKNOWN },
		{ "Out of memory: Kill process 9 (a) score 1 or sacrifice child", "a", 9, NA_U64,
		  NA_U64, NA_U64, OOM_HOST },
		{ "Memory cgroup out of memory: Kill process 9 () score 1) score 9 or sacrifice "
		  "child",
		  ") score 1", 9, NA_U64, NA_U64, NA_U64, OOM_MEMCG },
		{ "Out of memory: Killed process 9 (a) total-vm:100kB, anon-rss:50kB, "
		  "file-rss:8kB, shmem-rss:3kB, UID:7 pgtables:8kB oom_score_adj:-3",
		  "a", 9, 7, 50, 3, OOM_HOST },
		{ "Out of memory (oom_kill_allocating_task): Killed process 9 (a) total-vm:1kB, "
		  "anon-rss:50kB", "a", 9, NA_U64, 50, NA_U64, OOM_HOST },
		{ "Killed process 9 (() total-vm:1kB) total-vm:100kB, anon-rss:50kB",
		  "() total-vm:1kB", 9, NA_U64, 50, NA_U64, OOM_UNKNOWN },
		{ "Killed process 9 (cut of", "cut of", 9, NA_U64, NA_U64, NA_U64, OOM_UNKNOWN },
		{ "Killed process 9 (a) total-v", "a", 9, NA_U64, NA_U64, NA_U64, OOM_UNKNOWN },
		{ "oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0-1,3,"
		  "global_oom,task_memcg=/x,task=a,pid=9,uid=7", "a", 9, 7, NA_U64, NA_U64,
		  OOM_NONE },
		{ "oom-kill:constraint=CONSTRAINT_NEW,task=a,pid=9,uid=7", "a", 9, 7, NA_U64,
		  NA_U64, OOM_UNKNOWN },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		struct oomlog log = read_log(text_of(all[i].line));
		const struct oom_kill *k = log.kills;

		if (!CHECK(log.count == 1)) {
			printf("%s\n", all[i].line);
			continue;
		}
		CHECK_STR(k->comm, all[i].comm);
		CHECK(k->pid == all[i].pid && k->uid == all[i].uid);
		CHECK(k->anon_bytes == (all[i].anon_kb == NA_U64 ? NA_U64 : all[i].anon_kb * KB));
		CHECK(k->shmem_bytes ==
		      (all[i].shmem_kb == NA_U64 ? NA_U64 : all[i].shmem_kb * KB));
		CHECK_STR(oom_constraint_name(k->constraint),
		      oom_constraint_name(all[i].constraint));
		oomlog_free(&log);
	}
}

static void test_no_kill(void)
{
	static const char *const all[] = {
		"", " ", "[", "oom-kill:", "oom-kill:pid=", "oom-kill:,task=a,pid=x,uid=1",
		"oom-kill:task=a,pid=99999999999999999999,uid=1", "Killed process",
		"Killed process ",
		"Killed process x (a)", "Killed process 9",
		"Killed process 99999999999999999999 (a)",
		"Kill process -1 (a) score 1", "Out of memory", "Out of memory: ",
		"TCP: out of memory -- consider tuning tcp_mem",
		"xKilled process 9 (a) total-vm:1kB",
		"Memory cgroup out of memory: ", "Memory cgroup stats for ", "Task in ",
		"oom_reaper: reaped process 9 (a), now anon-rss:0kB, file-rss:0kB, shmem-rss:0kB",
		"a: Killed process 9 (a) total-vm:1kB", "memory: usage", "Tasks in /x",
		"oomd kill: ", "oomd kill: 1 2 3 ruleset:[",
		"systemd-oomd[1]: Killed x due to memory p",
		"Killed process 1 invoked oom-killer: gfp_mask=0xd0, order=0, oom_score_adj=0",
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		struct oomlog log = read_log(text_of(all[i]));

		if (!CHECK(log.count == 0))
			printf("%s\n", all[i]);
		oomlog_free(&log);
	}
}

#define OLD_REPORT(pid) \
	"java invoked oom-killer: gfp_mask=0xd0, order=0, oom_score_adj=0\n" \
	"java cpuset=/ mems_allowed=0\n" \
	"CPU: 1 PID: " pid " Comm: java Not tainted 3.10.0 #1\n" \
	"Task in /l/v killed as a result of limit of /l\n" \
	"memory: usage 1024kB, limit 1024kB, failcnt 7\n" \
	"memory+swap: usage 1024kB, limit 2048kB, failcnt 0\n" \
	"kmem: usage 0kB, limit 9007199254740991kB, failcnt 0\n" \
	"Memory cgroup stats for /l: cache:4KB rss:0KB rss_huge:0KB mapped_file:0KB swap:0KB\n" \
	"Memory cgroup stats for /l/v: cache:8KB rss:1000KB rss_huge:0KB mapped_file:0KB\n" \
	"[ pid ]   uid  tgid total_vm      rss nr_ptes swapents oom_score_adj name\n" \
	"[ " pid "]    48  " pid "    25000      250      20        0             5 java\n"

static void test_old(void)
{
	struct oomlog log = read_log(TEXT(OLD_REPORT("100")
		"Memory cgroup out of memory: Kill process 100 (java) score 9 or sacrifice child\n"
		"Killed process 101 (child) total-vm:90kB, anon-rss:80kB, file-rss:4kB\n"
		/* what comes later is another's */
		"Killed process 102 (other) total-vm:90kB, anon-rss:80kB, file-rss:4kB\n"));
	const struct oom_kill *k = log.kills;

	if (CHECK(log.count == 2)) {
		CHECK(k->pid == 101 && k->anon_bytes == 80 * KB && k->uid == NA_U64);
		CHECK_STR(k->comm, "child");
		CHECK_STR(k->cgroup, "/l/v");
		CHECK_STR(k->limited_by, "/l");
		CHECK(k->constraint == OOM_MEMCG && k->invoker_pid == 100);
		CHECK(k->memory.failcnt == 7 && k->memsw.limit_bytes == 2048 * KB);
		CHECK(k->kmem.limit_bytes == MEMCG_NONE);
		CHECK(k->memcg_anon_bytes == 1000 * KB && k->memcg_file_bytes == 12 * KB);
		CHECK(k->memcg_shmem_bytes == NA_U64);
		CHECK(k[1].pid == 102 && !k[1].limited_by && !k[1].invoker &&
		      k[1].memory.usage_bytes == NA_U64);
	}
	oomlog_free(&log);
	/* of the victim the table knows what its line does not */
	log = read_log(TEXT(OLD_REPORT("100") "Killed process 100 (java) total-vm:90kB, "
			    "anon-rss:80kB, file-rss:4kB\n"));
	CHECK(log.count == 1 && log.kills[0].uid == 48 && log.kills[0].oom_score_adj == 5 &&
	      log.kills[0].task_count == 0 && !strcmp(log.kills[0].limited_by, "/l"));
	oomlog_free(&log);
}

/* Two at once, before kernels kept them apart: what can't be told apart is not told. */
static void test_mixed(void)
{
	struct oomlog log = read_log(TEXT(
		"a invoked oom-killer: gfp_mask=0xd0, order=0, oom_score_adj=0\n"
		"b invoked oom-killer: gfp_mask=0xd0, order=0, oom_score_adj=0\n"
		"Task in /a killed as a result of limit of /a\n"
		"Task in /b killed as a result of limit of /b\n"
		"memory: usage 1kB, limit 1kB, failcnt 1\n"
		"memory: usage 2kB, limit 2kB, failcnt 2\n"
		"Memory cgroup out of memory: Kill process 1 (a) score 9 or sacrifice child\n"
		"Memory cgroup out of memory: Kill process 2 (b) score 9 or sacrifice child\n"
		"Killed process 1 (a) total-vm:9kB, anon-rss:8kB, file-rss:4kB\n"
		"Killed process 2 (b) total-vm:9kB, anon-rss:7kB, file-rss:4kB\n"));

	CHECK(log.count == 2);
	for (size_t i = 0; i < log.count; i++) {
		const struct oom_kill *k = &log.kills[i];

		CHECK(k->pid == i + 1 && k->constraint == OOM_MEMCG && !k->cgroup &&
		      !k->limited_by);
		CHECK(!k->invoker && k->memory.usage_bytes == NA_U64);
		CHECK(k->anon_bytes == (8 - i) * KB);
	}
	oomlog_free(&log);
}

#define KILLED(pid, time) "3," time "," time ",-;Memory cgroup out of memory: Killed process " pid \
	" (x) total-vm:9kB, anon-rss:8kB, file-rss:4kB, shmem-rss:0kB, UID:0 pgtables:1kB " \
	"oom_score_adj:0\n"

static void test_group(void)
{
	struct oomlog log = read_log(TEXT(
		KILLED("1", "10")
		"3,11,11,-;Tasks in /g are going to be killed due to memory.oom.group set\n"
		KILLED("1", "12") KILLED("2", "13") KILLED("3", "14") KILLED("2", "15")
		/* 0.2 s later: somebody else's, and an id used again */
		"6,16,200016,-;x\n3,17,200017,-;Memory cgroup out of memory: Killed process 1 (y) "
		"total-vm:9kB, anon-rss:8kB\n"));

	CHECK(log.count == 4 && log.lost == 0);
	for (size_t i = 0; i < 3 && i < log.count; i++) {
		CHECK(log.kills[i].pid == i + 1 && log.kills[i].is_by_group);
		CHECK_STR(log.kills[i].cgroup, "/g");
	}
	CHECK(log.count == 4 && log.kills[3].pid == 1 && !log.kills[3].is_by_group &&
	      !log.kills[3].cgroup);
	oomlog_free(&log);
}

/* A console that takes its time, and a log whose only times are dates: who is of the group? */
static void test_slow_group(void)
{
	struct oomlog slow = read_log(TEXT(
		KILLED("1", "10")
		"3,11,11,-;Tasks in /g are going to be killed due to memory.oom.group set\n"
		"3,12,60012,-;Killed process 2 (x) total-vm:9kB\n"
		"3,13,120013,-;Killed process 3 (x) total-vm:9kB\n"
		"3,14,180014,-;Killed process 1 (x) total-vm:9kB\n"));
	struct oomlog dated = read_log(TEXT(
		"[Mon Nov 30 12:00:00 2026] Killed process 1 (x) total-vm:9kB\n"
		"[Mon Nov 30 12:00:00 2026] Tasks in /g are going to be killed due to "
		"memory.oom.group set\n"
		"[Mon Nov 30 12:00:01 2026] Killed process 2 (x) total-vm:9kB\n"
		"[Mon Nov 30 12:00:03 2026] Killed process 3 (x) total-vm:9kB\n"));

	CHECK(slow.count == 3 && slow.kills[2].pid == 3 && slow.kills[2].is_by_group);
	CHECK(dated.count == 3 && dated.kills[1].is_by_group && !dated.kills[2].is_by_group &&
	      !dated.kills[2].cgroup);
	oomlog_free(&slow);
	oomlog_free(&dated);
}

static void test_others(void)
{
	struct oomlog log = read_log(TEXT(
		"4,1,1,-;Out of memory: OOM victim 8 (x) is already exiting. Skip killing the "
		  "task\n"
		"6,2,2,-;oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,"
		"mems_allowed=0,global_oom,task_memcg=/,task=x,pid=8,uid=0\n"
		"4,3,3,-;Out of memory: OOM victim 8 (x) is already exiting. Skip killing the "
		  "task\n"
		"4,4,4,-;Out of memory and no killable processes...\n"
		"4,5,5,-;oom_kill_process: 7 callbacks suppressed\n"
		"4,6,6,-;oom_kill_process: 3 callbacks suppressed\n"
		"4,7,7,-;other: 3 callbacks suppressed\n"
		"0,8,8,-;Kernel panic - not syncing: System is deadlocked on memory\n"
		"12,9,9,-;Killed process 1 (liar) total-vm:9kB\n"
		"30,10,10,-;systemd-oomd[612]: Killed /a due to x due to memory pressure for /a "
		  "being 9%\n"
		"12,11,11,-;oomd kill: 1.00 2.00 3.00 a b/c d 123 ruleset:[r] detectorgroup:[d] "
		"killer:k v2\n"
		"12,12,12,-;oomd kill: 1.00 2.00 3.00 a 123 ruleset:[r] detectorgroup:[d] "
		"killer:(dry)k v2\n"));

	if (CHECK(log.count == 4)) {
		CHECK(log.kills[0].is_void);
		CHECK(log.kills[1].is_nobody && log.kills[1].is_deadlock &&
		      log.kills[1].sequence == 4);
		CHECK(log.kills[2].killer == OOM_BY_SYSTEMD_OOMD && log.kills[2].pid == NA_U64);
		CHECK_STR(log.kills[2].cgroup, "/a due to x");
		CHECK_STR(log.kills[2].reason, "memory pressure for /a being 9%");
		CHECK(log.kills[3].killer == OOM_BY_OOMD);
		CHECK_STR(log.kills[3].cgroup, "/a b/c d");
	}
	CHECK(log.suppressed == 10);
	oomlog_free(&log);
	/* other programs of a syslog say nothing, bare lines between its lines neither */
	log = read_log(TEXT("Nov 30 12:00:00 h app[1]: oomd kill: 1.0 2.0 3.0 a 1 ruleset:[r]\n"
			    "Nov 30 12:00:00 h app[1]: Killed process 1 (x) total-vm:9kB\n"
			    "Killed process 2 (x) total-vm:9kB\n"
			    "Nov 30 12:00:00 h systemd-oomd[2]: Killed /b due to swap used (1)\n"
			    "Nov 30 12:00:00 h kernel: Killed process 3 (x#012\\x41) "
			  "total-vm:9kB\n"));
	CHECK(log.count == 2 && log.kills[0].killer == OOM_BY_SYSTEMD_OOMD &&
	      log.kills[1].pid == 3 && !strcmp(log.kills[1].comm, "x#012\\x41") &&
	      log.kills[1].line == 5);
	oomlog_free(&log);
}

/* Records that are missing may have been the end of one report and the beginning of the next. */
static void test_gap(void)
{
	struct oomlog log = read_log(TEXT(
		"6,1,1,-;memory: usage 1kB, limit 1kB, failcnt 1\n"
		"6,2,2,-;Memory cgroup stats for /a:\n"
		"3,9,9,-;Memory cgroup out of memory: Killed process 1 (x) total-vm:9kB\n"));

	CHECK(log.count == 1 && log.lost == 6 && !log.kills[0].limited_by &&
	      log.kills[0].memory.usage_bytes == NA_U64);
	oomlog_free(&log);
}

/* The victim is left out of the biggest, which are five. */
static void test_tasks(void)
{
	struct oomlog log = read_log(TEXT(
		"x invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0\n"
		"[  pid  ]   uid  tgid total_vm      rss pgtables_bytes swapents oom_score_adj "
		  "name\n"
		"[      1]     0     1      100       10    1 0 0 a\n"
		"[      2]     0     2      100       70    1 0 0 b ] c\n"
		"[      3]     0     3      100       30    1 0 0 c\n"
		"[      4]     0     4      100       60    1 0 -1000 d\n"
		"[      5]     0     5      100       20    1 0 0 e\n"
		"[      6]     0     6      100       50    1 0 0 \n"
		"[      7]     0     7      100       40    1 0 0 g\n"
		"[      8]     0     8      100     -100    1 0 0 h\n"
		"[      9]     0     9      100      100    1 0\n"
		"[    x10]     0    10      100      100    1 0 0 j\n"
		"Out of memory: Killed process 4 (d) total-vm:9kB\n"));
	static const uint64_t pids[] = { 2, 6, 7, 3, 5 };

	if (CHECK(log.count == 1 && log.kills[0].task_count == OOM_TASKS_MAX))
		for (size_t i = 0; i < OOM_TASKS_MAX; i++)
			CHECK(log.kills[0].tasks[i].pid == pids[i]);
	CHECK(log.count == 1 && !strcmp(log.kills[0].tasks[0].comm, "b ] c"));
	CHECK(log.count == 1 && log.kills[0].oom_score_adj == -1000);
	oomlog_free(&log);
}

/* Each its own, by the thread that says it. */
static void test_callers(void)
{
	struct oomlog log = read_log(TEXT(
		"4,1,1,-,caller=T1;a invoked oom-killer: gfp_mask=0xcc0\n"
		"4,2,2,-,caller=T2;b invoked oom-killer: gfp_mask=0xcc0\n"
		"4,3,3,-,caller=T1;memory: usage 1kB, limit 1kB, failcnt 1\n"
		"4,4,4,-,caller=T2;memory: usage 2kB, limit 2kB, failcnt 2\n"
		"4,5,5,-,caller=T2;Memory cgroup stats for /b:\n"
		"4,6,6,-,caller=T1;Memory cgroup stats for /a:\n"
		"4,7,7,-,caller=T1;anon 100\\x0afile 50\\x0ashmem 20\n"
		"4,8,8,-,caller=T2;anon 200\n"
		"4,9,9,-,caller=T2;Memory cgroup out of memory: Killed process 2 (b) total-vm:9kB\n"
		"4,10,10,-,caller=T1;Memory cgroup out of memory: Killed process 1 (a) "
		  "total-vm:9kB\n"));

	if (CHECK(log.count == 2)) {
		CHECK_STR(log.kills[0].limited_by, "/b");
		CHECK_STR(log.kills[0].invoker, "b");
		CHECK(log.kills[0].memory.failcnt == 2 && log.kills[0].memcg_anon_bytes == 200);
		CHECK_STR(log.kills[1].limited_by, "/a");
		CHECK(log.kills[1].memory.failcnt == 1 && log.kills[1].memcg_anon_bytes == 100 &&
		      log.kills[1].memcg_file_bytes == 30 && log.kills[1].memcg_shmem_bytes == 20);
	}
	oomlog_free(&log);
}

/* sysrq f says so by an order that no allocation has. */
static void test_manual(void)
{
	static const char *const orders[] = { "-1", "0", "-10" };

	for (size_t i = 0; i < 3; i++) {
		char text[256];

		snprintf(text, sizeof(text),
			 "kworker/0:1 invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=%s, "
			 "oom_score_adj=0\nOut of memory: Killed process 4 (d) total-vm:9kB\n",
			 orders[i]);
		struct oomlog log = read_log(text_of(text));

		CHECK(log.count == 1 && log.kills[0].is_manual == (i == 0));
		oomlog_free(&log);
	}
}

static void test_within(void)
{
	CHECK(oom_is_within("/a", "/a") && oom_is_within("/a/b", "/a") && oom_is_within("/a", "/"));
	CHECK(oom_is_within("/", "/") && !oom_is_within("/ab", "/a") &&
	      !oom_is_within("/a", "/a/b"));
	CHECK(!oom_is_within("", "/") && !oom_is_within("a", "/") && !oom_is_within("/a", ""));
}

int main(void)
{
	test_recorded();
	test_cut();
	test_lines();
	test_no_kill();
	test_old();
	test_mixed();
	test_group();
	test_slow_group();
	test_others();
	test_gap();
	test_tasks();
	test_callers();
	test_manual();
	test_within();
	arena_free(&arena);
	return check_done("oomlog");
}
