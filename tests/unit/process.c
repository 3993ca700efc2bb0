/* Processes as records tell of them: what is mapped where, who is called what. */
#include "common/stack/process.h"

#include "check.h"
#include "perfimage.h"

struct world {
	struct perf_events events;
	struct processes *ps;
	struct image m;
	unsigned left, left_kernel, mapped;
	char symbol[64];
};

static void on_leaving(void *arg, struct process *p)
{
	struct world *w = arg;

	if (p)
		w->left++;
	else
		w->left_kernel++;
}

static void on_mapped(void *arg, struct process *p, const struct process_map *m)
{
	CHECK(p && m->end > m->start);
	((struct world *)arg)->mapped++;
}

static void on_symbol(void *arg, uint64_t address, uint64_t size, struct text name)
{
	struct world *w = arg;

	CHECK(address && size);
	snprintf(w->symbol, sizeof(w->symbol), "%.*s", (int)name.len, name.data);
}

static void begin(struct world *w)
{
	const struct perf_attr a = {
		.sample_type = FIELD_TID | FIELD_TIME, .has_sample_id_all = true,
	};

	*w = (struct world){ 0 };
	perf_events_add(&w->events, &a);
	w->ps = processes_new(&(struct process_hooks){ w, on_leaving, on_mapped, on_symbol });
	image_u64(&w->m, 0);
}

static void end(struct world *w)
{
	processes_free(w->ps);
	perf_events_free(&w->events);
	buf_free(&w->m.bytes);
}

/* The record that was made last, in memory of exactly its size. */
static bool take(struct world *w)
{
	const size_t size = w->m.bytes.len - w->m.record;
	unsigned char *copy = malloc(size);
	struct perf_record r;

	if (!copy)
		abort();
	memcpy(copy, w->m.bytes.data + w->m.record, size);
	perf_record_header(&r, copy);
	const bool taken = processes_take(w->ps, &w->events, &r);

	free(copy);
	return taken;
}

static void map(struct world *w, uint32_t pid, uint64_t start, uint64_t length, uint64_t pgoff,
		const char *path)
{
	image_mmap(&w->m, MODE_USER, pid, start, length, pgoff, path, 1);
	CHECK(take(w));
}

static void comm(struct world *w, uint32_t pid, uint32_t tid, const char *name, bool is_exec)
{
	image_comm(&w->m, pid, tid, name, is_exec, 1);
	CHECK(take(w));
}

static void fork_of(struct world *w, uint16_t misc, uint32_t pid, uint32_t parent, uint32_t tid,
		    uint32_t parent_tid)
{
	image_fork(&w->m, RECORD_FORK, misc, pid, parent, tid, parent_tid, 1);
	CHECK(take(w));
}

static void exit_of(struct world *w, uint32_t pid, uint32_t tid)
{
	image_fork(&w->m, RECORD_EXIT, 0, pid, 1, tid, 1, 1);
	CHECK(take(w));
}

/* "path+offset" of an address; "" where nothing is */
static const char *at(struct world *w, uint32_t pid, uint64_t address)
{
	static char text[256];
	const struct process *p = processes_thread(w->ps, pid, pid)->process;
	const struct process_map *m = process_find_map(p, address);

	text[0] = '\0';
	if (m)
		snprintf(text, sizeof(text), "%s+%llx", m->object->path,
			 (unsigned long long)(address - m->start + m->pgoff));
	return text;
}

static void test_overlaps(void)
{
	struct world w;

	begin(&w);
	map(&w, 5, 0x1000, 0x4000, 0, "/a");
	CHECK_STR(at(&w, 5, 0x0fff), "");
	CHECK_STR(at(&w, 5, 0x1000), "/a+0");
	CHECK_STR(at(&w, 5, 0x4fff), "/a+3fff");
	CHECK_STR(at(&w, 5, 0x5000), "");
	const uint64_t epoch = processes_thread(w.ps, 5, 5)->process->epoch;

	/* elsewhere, and the same again: nothing gets a new meaning */
	map(&w, 5, 0x9000, 0x1000, 0x700, "/b");
	map(&w, 5, 0x1000, 0x4000, 0, "/a");
	map(&w, 5, 0x2000, 0x1000, 0x1000, "/a");
	CHECK(w.left == 0 && processes_thread(w.ps, 5, 5)->process->epoch == epoch);
	/* in the middle: it is split */
	map(&w, 5, 0x2000, 0x1000, 0x10, "/c");
	CHECK(w.left == 1 && processes_thread(w.ps, 5, 5)->process->epoch != epoch);
	CHECK_STR(at(&w, 5, 0x1fff), "/a+fff");
	CHECK_STR(at(&w, 5, 0x2000), "/c+10");
	CHECK_STR(at(&w, 5, 0x3000), "/a+2000");
	/* over all of it and more */
	map(&w, 5, 0x800, 0x9000, 0, "/d");
	CHECK_STR(at(&w, 5, 0x1800), "/d+1000");
	CHECK_STR(at(&w, 5, 0x97ff), "/d+8fff");
	CHECK_STR(at(&w, 5, 0x9800), "/b+f00");
	/* the same file grows at both ends */
	map(&w, 5, 0x400, 0x9000, UINT64_MAX - 0x3ff, "/d");
	CHECK(w.left == 2);
	CHECK_STR(at(&w, 5, 0x800), "/d+0");
	CHECK_STR(at(&w, 5, 0x97ff), "/d+8fff");
	end(&w);
}

static void test_odd_maps(void)
{
	struct world w;

	begin(&w);
	map(&w, 5, 0x1000, 0, 0, "/empty");
	map(&w, 5, UINT64_MAX - 0xfff, UINT64_MAX, 0, "/beyond");
	CHECK_STR(at(&w, 5, 0x1000), "");
	CHECK_STR(at(&w, 5, UINT64_MAX - 1), "/beyond+ffe");
	/* not executable: passed over */
	image_mmap(&w.m, MODE_USER | MISC_MMAP_DATA, 5, 0x1000, 0x1000, 0, "/data", 1);
	CHECK(take(&w));
	CHECK_STR(at(&w, 5, 0x1000), "");
	/* what a JIT allocates piece by piece is one thing */
	map(&w, 5, 0x10000, 0x1000, 0, "//anon");
	map(&w, 5, 0x10000, 0x3000, 0, "//anon");
	CHECK(w.left == 0);
	CHECK_STR(at(&w, 5, 0x12fff), "//anon+2fff");
	CHECK(process_path_is_file("/usr/lib/x.so") && process_path_is_file("/x (deleted)"));
	CHECK(!process_path_is_file("//anon") && !process_path_is_file("/memfd:jit (deleted)"));
	CHECK(!process_path_is_file("[vdso]") && !process_path_is_file("/dev/zero (deleted)"));
	CHECK(!process_path_is_file("/SYSV00000000 (deleted)") && !process_path_is_file(""));
	end(&w);
}

/* Text that was moved to huge pages is anonymous now, and still the file's. */
static void test_covered(void)
{
	struct world w;
	struct process_map below;
	const struct process_map *m;

	begin(&w);
	map(&w, 5, 0x10000, 0x10000, 0x3000, "/bin/x");
	map(&w, 5, 0x12000, 0x8000, 0x12000, "//anon");
	map(&w, 5, 0x14000, 0x1000, 0, "/other");
	m = process_find_map(processes_thread(w.ps, 5, 5)->process, 0x16010);
	CHECK(m && !strcmp(m->object->path, "//anon"));
	CHECK(m && process_map_covered(m, &below));
	CHECK_STR(below.object->path, "/bin/x");
	CHECK(0x16010 - below.start + below.pgoff == 0x9010);
	CHECK_STR(at(&w, 5, 0x14010), "/other+10");
	CHECK_STR(at(&w, 5, 0x1a010), "/bin/x+d010");
	m = process_find_map(processes_thread(w.ps, 5, 5)->process, 0x1a010);
	CHECK(m && !process_map_covered(m, &below));
	/* beyond the file's end it is something else */
	map(&w, 5, 0x1f000, 0x8000, 0, "//anon");
	m = process_find_map(processes_thread(w.ps, 5, 5)->process, 0x1f010);
	CHECK(m && !process_map_covered(m, &below));
	end(&w);
}

static void test_too_many_maps(void)
{
	struct world w;

	begin(&w);
	for (uint64_t i = 0; i < PROCESS_MAPS_MAX + 10; i++) {
		buf_reset(&w.m.bytes);
		map(&w, 5, 0x1000 * i, 0x800, 0, i & 1 ? "/a" : "/b");
	}
	CHECK(processes_counts(w.ps)->over_limit > 0);
	CHECK_STR(at(&w, 5, 0x1000), "/a+0");
	end(&w);
}

static void test_fork(void)
{
	struct world w;

	begin(&w);
	comm(&w, 5, 5, "parent", false);
	map(&w, 5, 0x1000, 0x1000, 0, "/a");
	fork_of(&w, 0, 6, 5, 6, 5);
	CHECK_STR(at(&w, 6, 0x1000), "/a+0");
	CHECK_STR(processes_thread(w.ps, 6, 6)->comm, "parent");
	/* what one maps the other does not have */
	map(&w, 6, 0x1000, 0x1000, 0, "/b");
	CHECK_STR(at(&w, 5, 0x1000), "/a+0");
	CHECK_STR(at(&w, 6, 0x1000), "/b+0");
	/* a thread shares */
	fork_of(&w, 0, 5, 5, 7, 5);
	CHECK(processes_thread(w.ps, 5, 7)->process == processes_thread(w.ps, 5, 5)->process);
	CHECK_STR(processes_thread(w.ps, 5, 7)->comm, "parent");
	/* perf tells of one that was there: its maps are its own, told before or after */
	map(&w, 8, 0x3000, 0x1000, 0, "/c");
	fork_of(&w, MISC_FORK_EXEC, 8, 5, 8, 5);
	CHECK_STR(at(&w, 8, 0x1000), "");
	CHECK_STR(at(&w, 8, 0x3000), "/c+0");
	/* a number that is used again */
	const unsigned left = w.left;

	fork_of(&w, 0, 6, 5, 6, 5);
	CHECK(w.left == left + 1);
	CHECK_STR(at(&w, 6, 0x1000), "/a+0");
	/* its own parent: nobody does that */
	fork_of(&w, 0, 6, 6, 6, 6);
	fork_of(&w, 0, 9, 6, 6, 6);
	CHECK_STR(at(&w, 9, 0x1000), "/a+0");
	end(&w);
}

static void test_exec_and_exit(void)
{
	struct world w;

	begin(&w);
	comm(&w, 5, 5, "sh", false);
	map(&w, 5, 0x1000, 0x1000, 0, "/bin/sh");
	comm(&w, 5, 5, "renamed", false);
	CHECK_STR(at(&w, 5, 0x1000), "/bin/sh+0");
	comm(&w, 5, 5, "ls", true);
	CHECK(w.left == 1);
	CHECK_STR(at(&w, 5, 0x1000), "");
	CHECK_STR(processes_thread(w.ps, 5, 5)->comm, "ls");
	CHECK_STR(processes_thread(w.ps, 5, 5)->process->comm, "ls");
	map(&w, 5, 0x1000, 0x1000, 0, "/bin/ls");
	/* samples may still come from one that has ended */
	exit_of(&w, 5, 5);
	CHECK_STR(at(&w, 5, 0x1000), "/bin/ls+0");
	CHECK(processes_thread(w.ps, 5, 5)->has_exited);
	for (uint32_t i = 0; i < PROCESS_EXITED_KEPT + 5; i++) {
		fork_of(&w, 0, 1000 + i, 5, 1000 + i, 5);
		exit_of(&w, 1000 + i, 1000 + i);
	}
	CHECK_STR(at(&w, 5, 0x1000), "");
	CHECK_STR(processes_thread(w.ps, 5, 5)->comm, ":5");
	/* the number came to life again before it was forgotten */
	fork_of(&w, 0, 1500, 5, 1500, 5);
	comm(&w, 1500, 1500, "new", false);
	for (uint32_t i = 0; i < PROCESS_EXITED_KEPT; i++) {
		fork_of(&w, 0, 4000 + i, 5, 4000 + i, 5);
		exit_of(&w, 4000 + i, 4000 + i);
	}
	CHECK_STR(processes_thread(w.ps, 1500, 1500)->comm, "new");
	end(&w);
}

static void test_names(void)
{
	struct world w;

	begin(&w);
	CHECK_STR(processes_thread(w.ps, 77, 78)->comm, ":78");
	CHECK_STR(processes_thread(w.ps, 0, 0)->comm, "swapper");
	CHECK_STR(processes_thread(w.ps, UINT32_MAX, UINT32_MAX)->comm, ":-1");
	comm(&w, 77, 78, "thread", false);
	CHECK_STR(processes_thread(w.ps, 77, 78)->comm, "thread");
	CHECK_STR(processes_thread(w.ps, 77, 77)->comm, ":77");
	/* the same number in another process */
	CHECK_STR(processes_thread(w.ps, 99, 78)->comm, ":78");
	end(&w);
}

static void test_kernel(void)
{
	struct world w;

	begin(&w);
	image_mmap(&w.m, MODE_KERNEL, UINT32_MAX, 0xffff000000000000, 0x100000, 0xffff000000000010,
		   "[kernel.kallsyms]_text", 0);
	CHECK(take(&w));
	image_mmap(&w.m, MODE_KERNEL | MISC_MMAP_DATA, UINT32_MAX, 0xffff000000200000, 0x1000, 0,
		   "[mod]", 0);
	CHECK(take(&w));
	const struct process_kernel *k = processes_kernel(w.ps);

	CHECK_STR(k->reference, "_text");
	CHECK(k->reference_address == 0xffff000000000010 && k->start == 0xffff000000000000);
	const struct process_map *m = processes_find_kernel_map(w.ps, 0xffff000000200010, false);

	CHECK(m && !strcmp(m->object->path, "[mod]"));
	CHECK(!processes_find_kernel_map(w.ps, 0xffff000000200010, true));
	image_mmap(&w.m, MODE_GUEST_KERNEL, UINT32_MAX, 0xffff000000000000, 0x1000, 0,
		   "[guest.kernel.kallsyms]", 0);
	CHECK(take(&w));
	CHECK(processes_find_kernel_map(w.ps, 0xffff000000000000, true));
	end(&w);
}

static void ksymbol(struct world *w, uint64_t address, uint16_t flags, const char *name)
{
	image_begin(&w->m, RECORD_KSYMBOL, 0);
	image_u64(&w->m, address);
	image_u32(&w->m, 0x100);
	image_u16(&w->m, 1);
	image_u16(&w->m, flags);
	image_name(&w->m, name);
	image_trailer(&w->m, 0, 0, 1);
	CHECK(take(w));
}

static void test_ksymbols(void)
{
	struct world w;

	begin(&w);
	ksymbol(&w, 0xffff100000000000, 0, "bpf_prog_one");
	CHECK_STR(w.symbol, "bpf_prog_one");
	ksymbol(&w, 0xffff100000000000, 1, "bpf_prog_one");
	CHECK(w.left_kernel == 0);
	ksymbol(&w, 0xffff100000000080, 0, "bpf_prog_two");
	CHECK(w.left_kernel == 1);
	CHECK_STR(w.symbol, "bpf_prog_two");
	end(&w);
}

static void test_others(void)
{
	struct world w;

	begin(&w);
	image_begin(&w.m, RECORD_CGROUP, 0);
	image_u64(&w.m, 42);
	image_name(&w.m, "/system.slice/a b");
	image_trailer(&w.m, 0, 0, 1);
	CHECK(take(&w));
	CHECK_STR(processes_cgroup(w.ps, 42), "/system.slice/a b");
	CHECK(processes_cgroup(w.ps, 43) == NULL);
	image_begin(&w.m, RECORD_NAMESPACES, 0);
	image_pair(&w.m, 5, 5);
	image_u64(&w.m, UINT64_MAX);   /* more than there are */
	for (uint64_t i = 0; i < 7; i++) {
		image_u64(&w.m, 4);
		image_u64(&w.m, 100 + i);
	}
	image_trailer(&w.m, 5, 5, 1);
	CHECK(take(&w));
	CHECK(processes_thread(w.ps, 5, 5)->process->pid_namespace == 103);
	CHECK(processes_thread(w.ps, 5, 5)->process->mount_namespace == 105);
	image_begin(&w.m, RECORD_LOST, 0);
	image_u64(&w.m, 1);
	image_u64(&w.m, 30);
	image_trailer(&w.m, 5, 5, 1);
	CHECK(take(&w));
	image_begin(&w.m, RECORD_LOST_SAMPLES, 0);
	image_u64(&w.m, 12);
	image_trailer(&w.m, 5, 5, 1);
	CHECK(take(&w));
	/* the same ones, told twice */
	CHECK(processes_counts(w.ps)->lost == 30 && processes_counts(w.ps)->lost_samples == 0);
	image_begin(&w.m, RECORD_LOST_SAMPLES, 0);
	image_u64(&w.m, 20);
	image_trailer(&w.m, 5, 5, 1);
	CHECK(take(&w));
	CHECK(processes_counts(w.ps)->lost == 30 && processes_counts(w.ps)->lost_samples == 2);
	image_begin(&w.m, RECORD_SAMPLE, 0);
	image_end(&w.m);
	CHECK(!take(&w));
	image_begin(&w.m, 250, 0);
	image_end(&w.m);
	CHECK(!take(&w));
	end(&w);
}

/* Every record cut at every length: no more is read than there is, and it is counted. */
static void test_cut_records(void)
{
	struct world w;
	const struct perf_attr bare = { 0 };

	for (uint32_t type = 1; type < 32; type++) {
		for (size_t size = 8; size < 120; size += 8) {
			begin(&w);
			perf_events_free(&w.events);
			perf_events_add(&w.events, &bare);
			image_begin(&w.m, type, (uint16_t)(MISC_MMAP_BUILD_ID | MODE_USER));
			for (size_t i = 8; i < size; i += 8)
				image_u64(&w.m, 0x4141414141414141);
			image_end(&w.m);
			take(&w);
			end(&w);
		}
	}
	begin(&w);
	image_begin(&w.m, RECORD_MMAP2, 0);
	image_u64(&w.m, 1);
	image_trailer(&w.m, 5, 5, 1);
	CHECK(take(&w));
	CHECK(processes_counts(w.ps)->damaged == 1);
	end(&w);
}

static void test_build_ids(void)
{
	struct world w;

	begin(&w);
	image_begin(&w.m, RECORD_MMAP2, MODE_USER | MISC_MMAP_BUILD_ID);
	image_pair(&w.m, 5, 5);
	image_u64(&w.m, 0x1000);
	image_u64(&w.m, 0x1000);
	image_u64(&w.m, 0);
	image_u32(&w.m, 20);
	for (uint32_t i = 0; i < 5; i++)
		image_u32(&w.m, 0x01020304 * (i + 1));
	image_pair(&w.m, 5, 2);
	image_name(&w.m, "/a");
	image_trailer(&w.m, 5, 5, 1);
	CHECK(take(&w));
	const struct process_map *m = process_find_map(processes_thread(w.ps, 5, 5)->process,
						       0x1000);

	CHECK(m != NULL);
	if (m)
		CHECK_STR(m->object->build_id, "0403020108060402" "0c090603100c0804" "140f0a05");
	/* the same path, another file: an address there means something else */
	map(&w, 5, 0x1000, 0x1000, 0, "/a");
	CHECK(w.left == 1);
	end(&w);
}

/* The flag of a build id, left over from another session; the record has a device and an inode. */
static void test_left_over_flag(void)
{
	static const uint32_t majors[] = { 254, 8, 0 };

	for (size_t n = 0; n < 3; n++) {
		struct world w;

		begin(&w);
		image_begin(&w.m, RECORD_MMAP2, MODE_USER | MISC_MMAP_BUILD_ID);
		image_pair(&w.m, 5, 5);
		image_u64(&w.m, 0x1000);
		image_u64(&w.m, 0x1000);
		image_u64(&w.m, 0);
		image_pair(&w.m, majors[n], 1);
		image_u64(&w.m, 77);
		image_u64(&w.m, 0x12345678);
		image_pair(&w.m, 5, 2);
		image_name(&w.m, "/a");
		image_trailer(&w.m, 5, 5, 1);
		CHECK(take(&w));
		const struct process_map *m =
			process_find_map(processes_thread(w.ps, 5, 5)->process, 0x1000);

		CHECK(m && !m->object->build_id && m->object->inode == 77);
		end(&w);
	}
}

int main(void)
{
	test_overlaps();
	test_odd_maps();
	test_covered();
	test_too_many_maps();
	test_fork();
	test_exec_and_exit();
	test_names();
	test_kernel();
	test_ksymbols();
	test_others();
	test_cut_records();
	test_build_ids();
	test_left_over_flag();
	return check_done("process");
}
