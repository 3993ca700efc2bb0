/* The readers of stacks that other tools print: recorded, cut anywhere, hostile. */
#include "tests/unit/stacks.h"

static void test_bpftrace(void)
{
	const struct text t = TEXT(
		"Attaching 1 probe...\n"
		"^C\n"
		"\n"
		"@[\n    finish_task_switch+138\n    schedule+64\n    do_nanosleep+9\n]: 12\n"
		"@[\n    kfree+0\n    vfs_read+12\n, \n    __read+18\n    main+44\n, sleep]: 3\n"
		"@off[bash, 12, \n        kfree+0\n        0x7f1234\n]: 5\n"
		"@[\n, \n    main+1\n, x]: 4\n"
		"@[func]: 8\n");

	check_kind(STACK_BPFTRACE, t,
		   "bash;12;0x7f1234;kfree 5\n"
		   "do_nanosleep;schedule;finish_task_switch 12\n"
		   "func 8\n"
		   "sleep;main;__read;vfs_read;kfree 3\n"
		   "x;main 4\n");
	CHECK(result.samples == 5 && result.skipped_lines == 1 && result.first_skipped_line == 2);
	/* ustack(perf), stats(), CRLF */
	check_kind(STACK_BPFTRACE,
		   TEXT("@[\r\n\t7f12 read(int)+12 (/lib/libc.so)\r\n"
			"\tffffffff81000130 [unknown] ([kernel.kallsyms])\r\n]: "
			"count 3, average 4, total 12\r\n"),
		   "[kernel.kallsyms];read 12\n");
	/* what is no count is refused, by its reason */
	CHECK_STR(fold_as(STACK_BPFTRACE,
			  TEXT("@h[\n    f+1\n]:\n[1, 2)    7 |@@@@    |\n[2, 4)   1 |@   |\n\n"
			       "@[\n    g+1\n]: 2\n")), "g 2\n");
	CHECK(result.skipped_lines == 3 && result.first_skipped_line == 3);
	CHECK_STR(result.first_skipped_why, "a histogram is no count");
	CHECK_STR(fold_as(STACK_BPFTRACE, TEXT("@[\n f+1\n]: (1, 2)\n@[\n g+1\n]: -4\n")), "");
	CHECK_STR(result.first_skipped_why, "the value is no count");
	CHECK_STR(fold_as(STACK_BPFTRACE, TEXT("@[\n f+1\n@[\n g+1\n]: 4\n@[\n h+1")), "g 4\n");
	CHECK(result.skipped_lines == 2 && result.first_skipped_line == 1);
	CHECK_STR(fold_as(STACK_BPFTRACE, TEXT("@[]: 4\n@[, , ]: 5\n@[\n+1\n +\n]: 6\n")),
		  "+1;+ 6\n[no stack] 9\n");
}

static void test_blocks(void)
{
	/* profile, offcputime */
	check_kind(STACK_BLOCKS,
		   TEXT("Sampling at 49 Hertz of all threads by user + kernel stack.\n\n"
			"    b'_raw_spin_lock'\n    schedule+0x12 [kernel]\n    --\n"
			"    read(int) [libc.so.6]\n    [unknown]\n"
			"    -                ssh d (1234)\n        7\n\n"
			"    schedule\n    -                swapper/1 (0)\n        12\n\n"),
		   "ssh_d;[unknown];read;--;schedule;_raw_spin_lock 7\nswapper/1;schedule 12\n");
	CHECK(result.samples == 2 && result.skipped_lines == 1);
	/* offwaketime, wakeuptime, stackcount */
	check_kind(STACK_BLOCKS,
		   TEXT("    waker:           sshd 12\n    read\n    -\n    try_to_wake_up\n"
			"    --               --\n    schedule\n    -\n    main\n"
			"    target:          vmstat 34\n        56\n\n"
			"    target:          vmstat\n    ffffffff81002031 wake\n"
			"    waker:           swapper/0\n        8\n\n"
			"  tcp_sendmsg\n  sock_sendmsg\n    sshd [1234]\n    42\n\n"
			"  tcp_sendmsg\n    5\n"),
		   "sshd;sock_sendmsg;tcp_sendmsg 42\n"
		   "swapper/0;wake;vmstat 8\n"
		   "tcp_sendmsg 5\n"
		   "vmstat;main;-;schedule;--;try_to_wake_up;-;read;sshd 56\n");
	filter_options.by = ROOT_PID;
	CHECK_STR(fold_text_of(TEXT("    a\n    b\n    -         x (7)\n    2\n")), "x-7;b;a 2\n");
	no_options();
	/* dtrace */
	check_kind(STACK_BLOCKS,
		   TEXT("CPU     ID                    FUNCTION:NAME\n  0  64091     :tick-60s\n\n"
		   	"\n"
			"              libc.so.1`__read+0xa\n              genunix`foo+0x2\n"
			"              x`f(int, char)+0x12\n"
			"               12\n\n"
			"              unix`mach_cpu_idle+0x6\n              305\n"),
		   "unix`mach_cpu_idle 305\nx`f;genunix`foo;libc.so.1`__read 12\n");
	check_kind(STACK_BLOCKS,
		   TEXT("\n  bash                                              \n"
			"              genunix`read+0x2\n              unix`sys_syscall+0x17a\n\n"
			"              libc.so.1`__read+0xa\n              0x401234\n"
			"               12\n"),
		   "bash;0x401234;libc.so.1`__read;unix`sys_syscall;genunix`read 12\n");
	CHECK_STR(fold_as(STACK_BLOCKS,
			  TEXT("              unix`idle+0x6\n"
			       "           value  ------------- Distribution ------------- count\n"
			       "            4096 |                                         0\n"
			       "            8192 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@   12\n\n"
			       "              unix`f+0x6\n              3\n")), "unix`f 3\n");
	CHECK(result.skipped_lines == 4);
	/* mallocstacks, memleak */
	check_kind(STACK_BLOCKS,
		   TEXT("Attaching to malloc in pid 886, Ctrl+C to quit.\n"
			"2904 bytes allocated at:\n\t__libc_malloc+0x0\n\t[unknown]\n"
			"624 bytes allocated at:\n\tmalloc+0x0\n\tmain+0x12\n"
			"\t24 bytes in 3 allocations from stack\n\t\tmain+0x6d [allocs]\n"
			"\t\tstart+0xb [libc.so]\n"),
		   "[unknown];__libc_malloc 2904\nmain;malloc 624\nstart;main 24\n");
	CHECK(result.skipped_lines == 1);
	CHECK_STR(result.first_skipped_why, "no count with these lines");
	CHECK_STR(fold_as(STACK_BLOCKS, TEXT("12\n    \n    f\n    g\n\n  x\n"
		"99999999999999999999\n")),
		  "[no stack] 12\n");
	CHECK(result.skipped_lines == 4);
}

static void test_debugger(void)
{
	check_kind(STACK_DEBUGGER,
		   TEXT("[New LWP 21814]\nUsing host libthread_db library \"/lib/x.so\".\n\n"
			"Thread 2 (Thread 0x7fce59c986c0 (LWP 21814) \"wor ker\"):\n"
			"#0  0x00007fce59d6fdf2 in __libc_pause () at ../sysdeps/pause.c:29\n"
			"#1  ns::A<void (int)>::operator() (this=0x1, f=@0x2) at /src/t.cc:3\n"
			"    at continued\n"
			"#2  (anonymous namespace)::run(int) () from /lib/x.so\n"
			"#3  <signal handler called>\n"
			"#4  0x0000557053c391b5 in ?? () from /lib/x86/libfoo.so.2\n"
			"#5  operator<< (a=1) at x.cc:1\n"
			"(More stack frames follow...)\n\n"
			"Thread 1 (process 12):\n#0  0x00007fce59d6fdf2 in poll ()\n"
			"[Inferior 1 (process 21812) detached]\n"),
		   "poll 1\n"
		   "wor_ker;operator<<;[libfoo.so.2];<signal handler called>;"
		   "(anonymous namespace)::run;ns::A<void (int)>::operator();__libc_pause 1\n");
	CHECK(result.samples == 2 && result.skipped_lines == 2);
	filter_options.by = ROOT_TID;
	stack_options.frame.source_lines = true;
	CHECK_STR(fold_text_of(TEXT("Thread 2 (Thread 0x7f (LWP 21) \"w\"):\n"
				    "#0  f (x=0) at /a/t.c:3\n#1  main () at t.c:9\n")),
		  "w-?/21;main:t.c:9;f:t.c:3 1\n");
	no_options();
	check_kind(STACK_DEBUGGER,
		   TEXT("PID 12 - process\nTID 12:\n"
		   	"#0  0x00007f0000000012     __poll - /lib/libc.so.6\n"
			"    ../sysdeps/poll.c:29\n"
			"#1  0x0000560000000012 - 1 run(int) - /bin/x - [0x12]abcdef\n"
			"#2  0x0000560000000013 - 1 - /bin/x\n"
			"TID 13:\n#0  0x00007f0000000014 main\n"),
		   "[x];run;__poll 1\nmain 1\n");
	CHECK(!result.skipped_lines);
	/* numbers that do not fit, brackets that do not close */
	CHECK_STR(fold_as(STACK_DEBUGGER, TEXT("#0  0xfffffffffffffffff in f ()\n#1  g<( (a\n#2  \n"
					       "#99999999999999999999 x\n#\n# 1\n")),
		  "g<( (a;0xfffffffffffffffff in f 1\n");
}

static void test_proc(void)
{
	check_kind(STACK_PROC,
		   TEXT("[<0>] do_wait+0x5c/0xf0\n[<0>] kernel_wait4+0xa0/0x150 [mod]\n"
			"[<ffffffff81000130>] entry+0x76/0x7e\n"
			"[<ffffffffffffffff>] 0xffffffffffffffff\n"
			"[<0>] do_wait+0x5c/0xf0\n\n[<0>] do_wait+0x5c/0xf0\n"),
		   "do_wait 2\nentry;kernel_wait4;do_wait 1\n");
	filter_options.by = ROOT_PID;
	check_kind(STACK_PROC,
		   TEXT("==> /proc/12/stack <==\n[<0>] a+0x5c/0xf0\n==> /proc/13/stack <==\n"
			"==> /proc/14/task/15/stack <==\n[<0>] a+0x5c/0xf0\n[<0>] b+0x1/0x2\n"),
		   "?-12;a 1\n?-15;b;a 1\n");
	check_kind(STACK_PROC,
		   TEXT("/proc/2/stack:[<0>] a+0x5c/0xf0\n/proc/2/stack:[<0>] b+0x1/0x2\n"
			"/proc/3/stack:[<0>] a+0x5c/0xf0\n"), "?-2;b;a 1\n?-3;a 1\n");
	no_options();
	stack_options.frame.kernel = true;
	CHECK_STR(fold_text_of(TEXT("[<0>] a+0x5c/0xf0\n")), "a_[k] 1\n");
	no_options();
	CHECK_STR(fold_as(STACK_PROC, TEXT("[<0>]\n[<\n[<0>] \n[<0>] /0x\n[<x>] a\nbash 12\n"
		"/\n")), "");
	CHECK(result.skipped_lines == 7);
}

static void test_jstack(void)
{
	const struct text t = TEXT(
		"2026-11-30 20:53:19\nFull thread dump OpenJDK 64-Bit Server VM (17.0.15):\n\n"
		"\"main\" #1 prio=5 os_prio=0 cpu=28.69ms tid=0x00007f6d nid=0x5aed waiting on "
		"condition\n"
		"   java.lang.Thread.State: TIMED_WAITING (sleeping)\n"
		"\tat java.lang.Thread.sleep(java.base@17.0.15/Native Method)\n"
		"\t- locked <0x000000069ec02f40> (a java.lang.Object)\n"
		"\tat app//W.go(W.java:1)\n\tat W.main(W.java:7)\n\n"
		"   Locked ownable synchronizers:\n\t- None\n\n"
		"\"pool-1-thread-7\" #12 daemon prio=5 tid=0x00007f6d nid=23278 runnable\n"
		"\tat W$$Lambda$1/0x00007f6ca8000a08.run(Unknown Source)\n\n"
		"\"pool-1-thread-8\" #13 daemon prio=5 tid=0x00007f6d nid=23279 runnable\n"
		"\tat W$$Lambda$1/0x00007f6ca8000b08.run(Unknown Source)\n\n"
		"\"VM Thread\" os_prio=0 cpu=8.58ms tid=0x00007f6d280f4000 nid=0x5b2a runnable\n"
		"\n");

	check_kind(STACK_JSTACK, t, "main;W.main;W.go;java.lang.Thread.sleep 1\n"
		   "pool-1-thread;W$$Lambda$1.run 2\n");
	CHECK(result.samples == 3);
	stack_options.frame.source_lines = true;
	filter_options.by = ROOT_TID;
	filter_options.include = "main";
	CHECK_STR(fold_as(STACK_JSTACK, t),
		  "main-?/23277;W.main:W.java:7;W.go:W.java:1;java.lang.Thread.sleep 1\n");
	no_options();
	CHECK_STR(fold_as(STACK_JSTACK, TEXT("\"\n\"\" #\n\" nid=\n\"x\" nid=0x\n\tat (a)\n\tat )\n"
					     "\tat f()\n\tat g(/@)\n")), "x;g;f 1\n");
}

static void test_go_traces(void)
{
	const struct text t = TEXT(
		"File: x\nType: cpu\nTime: Nov 30, 2026 at 8:53pm (UTC)\n"
		"Duration: 3.50s, Total samples = 30ms\n"
		"-----------+-------------------------------------------------------\n"
		"      10ms   runtime.futex\n             runtime.futexsleep (inline)\n"
		"             main.(*T).run\n"
		"-----------+-------------------------------------------------------\n"
		"     bytes:  512\n"
		"     1.20s   main.f[...]\n             main.main\n"
		"-----------+-------------------------------------------------------\n");

	check_kind(STACK_GO_TRACES, t, "main.(*T).run;runtime.futexsleep;runtime.futex 10000000\n"
		   "main.main;main.f[...] 1200000000\n");
	CHECK(result.samples == 2 && result.skipped_lines == 0);
	CHECK_STR(result.events[0].unit, "ns");
	CHECK_STR(fold_as(STACK_GO_TRACES, TEXT("-----------+---\n   512.50kB   f\n"
						"-----------+---\n 1.5   g\n-----------+---\n"
						"  x y\n 1zB f\n-----------+---\n  \n3 \n")),
		  "f 524800\ng 2\n");
	CHECK(result.skipped_lines == 3);
}

static void test_go_debug(void)
{
	check_kind(STACK_GO_DEBUG,
		   TEXT("goroutine profile: total 7\n"
			"6 @ 0x45dfa1 0x46b3f2\n#\t0x45dfa1\tmain.(*T).run+0x12\t/src/run.go:12\n"
			"#\t0x46b3f2\tmain.main+0x21\t\t/src/main.go:7\n\n"
			"1 @ 0x45dfa1\n#\t0x45dfa1\tmain.idle+0x12\t/src/run.go:20\n"),
		   "main.idle 1\nmain.main;main.(*T).run 6\n");
	check_kind(STACK_GO_DEBUG,
		   TEXT("heap profile: 3: 4096 [5: 8192] @ heap/1048576\n"
			"2: 3072 [4: 7168] @ 0x45dfa1\n#\t0x45dfa1\tmain.f+0x12\t/src/run.go:12\n\n"
			"1: 1024 [1: 1024] @ 0x45dfa2\n#\t0x45dfa2\tmain.g+0x12\t/src/run.go:13\n\n"
			"# runtime.MemStats\n# Alloc = 12\n"),
		   "main.f 3072\nmain.g 1024\n");
	CHECK_STR(result.events[0].unit, "bytes");
	CHECK(!result.skipped_lines);
	check_kind(STACK_GO_DEBUG,
		   TEXT("--- contention:\ncycles/second=2999998977\n"
			"180001216 83 @ 0x45dfa1\n"
			"#\t0x45dfa1\tsync.(*Mutex).Unlock+0x12\t/src/m.go:12\n"),
		   "sync.(*Mutex).Unlock 180001216\n");
	const struct text panic = TEXT(
		"panic: oops\n\ngoroutine 1 [running]:\nmain.(*T).run(0xc000012, {0x1, 0x2})\n"
		"\t/src/run.go:12 +0x1d\nmain.main()\n\t/src/main.go:7 +0x20\n\n"
		"goroutine 18 [chan receive, 3 minutes]:\nmain.wait(...)\n\t/src/run.go:30\n"
		"created by main.main in goroutine 1\n\t/src/main.go:6 +0x20\nexit status 2\n");

	check_kind(STACK_GO_DEBUG, panic, "main.main;main.(*T).run 1\nmain.main;main.wait 1\n");
	CHECK(result.skipped_lines == 1);
	stack_options.frame.source_lines = true;
	CHECK_STR(fold_as(STACK_GO_DEBUG, panic), "main.main:main.go:6;main.wait:run.go:30 1\n"
		  "main.main:main.go:7;main.(*T).run:run.go:12 1\n");
	no_options();
	CHECK_STR(fold_as(STACK_GO_DEBUG, TEXT("99999999999999999999 @ 0x1\n1: @\n1: 2 3 @ 0x1\n"
		" 1 @x\n"
					       "#\t0x1\tf+0x1\ta:1\n#\tx\tg\n#\t\n#\n")), "");
}

static void test_go_raw(void)
{
	const struct text t = TEXT(
		"PeriodType: cpu nanoseconds\nPeriod: 10000000\nTime: 2026-11-30\nDuration: 3.5\n"
		"Samples:\nsamples/count cpu/nanoseconds[dflt]\n"
		"          1   10000000: 1 2 \n                key:[value]\n"
		"          2   20000000: 3 2 \n"
		"Locations\n"
		"     1: 0x45dfa1 M=1 runtime.memclr /usr/go/src/memclr.s:12:0 s=11\n"
		"     2: 0x45dfa2 M=1 main.inl /src/x.go:3:0 s=1\n"
		"             main.(*T).run /src/x.go:12:5 s=10(main.T.run)\n"
		"     3: 0x45dfa3 M=1 [F] std::f<int, char>(int) x.cc:9 s=1\n"
		"Mappings\n1: 0x400000/0x4e2000/0x0 /bin/x  [FN]\n");

	check_kind(STACK_GO_RAW, t, "main.(*T).run;main.inl;runtime.memclr 10000000\n"
		   "main.(*T).run;main.inl;std::f<int, char> 20000000\n");
	CHECK(result.samples == 2 && result.event_count == 2 && result.skipped_lines == 0);
	CHECK_STR(result.events[1].name, "cpu");
	CHECK_STR(result.events[1].unit, "ns");
	CHECK(result.events[1].is_folded && !result.events[0].is_folded);
	stack_options.event = "samples";
	stack_options.frame.source_lines = stack_options.frame.inlined = true;
	CHECK_STR(fold_as(STACK_GO_RAW, t),
		  "main.(*T).run:x.go:12;main.inl:x.go:3_[i];runtime.memclr:memclr.s:12 1\n"
		  "main.(*T).run:x.go:12;main.inl:x.go:3_[i];std::f<int, char>:x.cc:9 2\n");
	no_options();
	stack_options.weighs_samples = true;
	CHECK_STR(fold_as(STACK_GO_RAW, t), "main.(*T).run;main.inl;runtime.memclr 1\n"
		  "main.(*T).run;main.inl;std::f<int, char> 2\n");
	no_options();
	CHECK_STR(fold_as(STACK_GO_RAW, TEXT("PeriodType: x\nSamples:\n")), "");
	CHECK_STR(result.failure, "no samples in it");
	/* samples of locations that are not there, of none, and lines that are none */
	CHECK_STR(fold_as(STACK_GO_RAW, TEXT("Samples:\na/b\n 1: 7 7\n 2:\n x\n3\n 4: 1\n"
		"Locations\n"
					     "1:\n 2: \n")), "[no stack] 2\n[unknown] 4\n"
					     "[unknown];[unknown] 1\n");
	CHECK(result.skipped_lines == 2);
}

int main(void)
{
	test_bpftrace();
	test_blocks();
	test_debugger();
	test_proc();
	test_jstack();
	test_go_traces();
	test_go_debug();
	test_go_raw();
	forget_stacks();
	return check_done("stackkinds");
}
