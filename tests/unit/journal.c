#include "common/kernel/journal.h"

#include <errno.h>

#include "common/base/na.h"
#include "common/kernel/plan.h"
#include "common/kernel/setting.h"
#include "tests/unit/cut.h"
#include "tests/unit/host.h"

static struct arena arena;

static bool holds(const char *below, const char *text)
{
	char bytes[64];
	int fd = open(at(below), O_RDONLY);
	ssize_t n = read(fd, bytes, sizeof(bytes));

	close(fd);
	return n == (ssize_t)strlen(text) && !memcmp(bytes, text, (size_t)n);
}

static void test_kinds(void)
{
	static const char *const none[] = {
		"proc/irq/1/smp_affinity_list/x", "proc/irq/x/smp_affinity",
		"proc/irq/ 1/smp_affinity",
		"proc/irq/1", "proc/sys/kernel/pid_max", "proc/sys/net/../kernel/pid_max",
		"proc/sys/net/", "proc/sys/net/core/.x", "proc/sys/net//core", "proc/sys/net/a b",
		"sys/class/net/eth0/queues/rx-0/xps_cpus", "sys/class/net/../queues/rx-0/rps_cpus",
		"sys/class/net/eth0/queues/tx-0/rps_cpus", "sys/class/net/eth0/queues/rx-/rps_cpus",
		"sys/class/net/eth0/mtu", "ring/eth0", "ring//rx", "ring/eth0/max", "", "/",
		"ring/a-name-that-is-too-long/rx",
	};

	CHECK(setting_kind_of("proc/irq/38/smp_affinity_list") == SETTING_IRQ_LIST);
	CHECK(setting_kind_of("proc/irq/38/smp_affinity") == SETTING_IRQ_MASK);
	CHECK(setting_kind_of("sys/class/net/eth0/queues/rx-12/rps_cpus") == SETTING_RPS);
	CHECK(setting_kind_of("sys/class/net/eth0/queues/rx-0/rps_flow_cnt") == SETTING_NUMBER);
	CHECK(setting_kind_of("sys/class/net/eth0.5/queues/tx-0/xps_cpus") == SETTING_XPS);
	CHECK(setting_kind_of("proc/sys/net/core/rmem_max") == SETTING_TEXT);
	CHECK(setting_kind_of("ring/eth0/tx") == SETTING_RING);
	for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++)
		CHECK(setting_kind_of(none[i]) == SETTING_NONE);
	CHECK(setting_irq_of("proc/irq/38/smp_affinity") == 38);
	CHECK(setting_irq_of("proc/sys/net/core/rmem_max") == NA_U64);
}

static void test_values(void)
{
	CHECK(setting_is_same(SETTING_RPS, "3", "00000000,00000003"));
	CHECK(!setting_is_same(SETTING_RPS, "3", "3,00000000"));
	CHECK(setting_is_same(SETTING_IRQ_LIST, "0-1", "0,1") &&
	      !setting_is_same(SETTING_IRQ_LIST, "0-1", "0-2"));
	CHECK(setting_is_same(SETTING_TEXT, "4096\t131072  5", "4096 131072 5"));
	CHECK(!setting_is_same(SETTING_TEXT, "4096", "4096 5"));
	CHECK(setting_is_valid(SETTING_RPS, "0") && setting_is_valid(SETTING_XPS, "ff"));
	CHECK(!setting_is_valid(SETTING_RPS, "") && !setting_is_valid(SETTING_RPS, "0-1"));
	CHECK(!setting_is_valid(SETTING_IRQ_LIST, "") && !setting_is_valid(SETTING_IRQ_MASK, "0"));
	CHECK(setting_is_valid(SETTING_TEXT, "") && !setting_is_valid(SETTING_TEXT, "a\nb"));
	CHECK(setting_is_valid(SETTING_NUMBER, "128") && !setting_is_valid(SETTING_NUMBER, "-1"));
	CHECK(!setting_is_valid(SETTING_NONE, "1"));
	CHECK(!setting_is_valid(SETTING_RING, "4294967296"));
}

static void test_tree(void)
{
	const char *path = "proc/irq/38/smp_affinity_list", *value = NULL;
	bool is_refused = true;

	host_add("t/proc/irq/38/smp_affinity_list", "0-3\n");
	host_add("t/outside", "0\n");
	host_add("t/inner/proc/sys/net/core/x", "1\n");
	host_link("t/inner/proc/sys/net/core/y", "../../../../../outside");
	make("t/inner/proc/sys/net/core/dir");
	open_root("t");
	CHECK(setting_open() == 0 && !setting_is_live());
	CHECK(setting_read(&arena, path, &value) == 0);
	CHECK_STR(value, "0-3");
	CHECK(setting_write(path, "2", &is_refused) == 0 && !is_refused);
	CHECK(setting_read(&arena, path, &value) == 0);
	CHECK_STR(value, "2");
	CHECK(setting_write(path, "x", &is_refused) == -EINVAL && !is_refused);
	CHECK(setting_write("proc/irq/9/smp_affinity_list", "2", &is_refused) == -ENOENT);
	CHECK(setting_write("proc/stat", "2", &is_refused) == -EINVAL);
	CHECK(setting_write("ring/eth0/rx", "2", &is_refused) == -EOPNOTSUPP);
	setting_close();
	CHECK(setting_read(&arena, path, &value) == -EBADF);
	close_all();
	open_root("t/inner");
	CHECK(setting_open() == 0);
	CHECK(setting_write("proc/sys/net/core/x", "4 5", &is_refused) == 0);
	CHECK(setting_write("proc/sys/net/core/y", "7", &is_refused) < 0);
	CHECK(setting_write("proc/sys/net/core/dir", "7", &is_refused) < 0);
	setting_close();
	close_all();
	CHECK(holds("t/outside", "0\n") && holds("t/inner/proc/sys/net/core/x", "4 5\n"));
}

static void test_plan(void)
{
	const struct text good = TEXT("step\tpath\told_value\tnew_value\twhy\n"
				      "1\t/proc/irq/38/smp_affinity_list\t0-3\t2\tbecause\n"
				      "2\tproc/sys/net/core/rmem_max\t1\\t2\t3\t\n");
	struct plan p = { .count = 7 };

	CHECK(plan_parse(&arena, good, &p) == 0 && p.count == 2);
	CHECK_STR(p.steps[0].path, "proc/irq/38/smp_affinity_list");
	CHECK_STR(p.steps[0].new, "2");
	CHECK_STR(p.steps[1].old, "1\t2");
	EACH_CUT(n, good) {
		int err = plan_parse(&arena, cut(good, n), &p);

		CHECK((err == 0) == (n && good.data[n - 1] == '\n'));
	}
	CHECK(plan_parse(&arena, TEXT("path\tnew_value\n"), &p) == -EINVAL);
	CHECK(plan_parse(&arena, TEXT("path\told_value\tnew_value\n/etc/shadow\ta\tb\n"), &p) ==
	      -EINVAL);
	CHECK(plan_parse(&arena, TEXT("path\told_value\tnew_value\nring/a/rx\t1\n"), &p) ==
	      -EINVAL);
	CHECK(plan_parse(&arena, TEXT("path\told_value\tnew_value\nring/a/rx\t1\tx\n"), &p) ==
	      -EINVAL);
	CHECK(plan_parse(&arena, TEXT("path\told_value\tnew_value\n"), &p) == 0 && !p.count);
}

/* The whole life of one, as irqbind writes it. */
static void add_life(struct buf *b)
{
	const struct journal_step one = { .realtime_ns = 5,
					  .path = "proc/irq/38/smp_affinity_list",
					  .old = "0-3",
					  .new = "2" };
	const struct journal_step two = { .realtime_ns = 6,
					  .path = "proc/sys/net/core/x",
					  .old = "a\tb",
					  .new = "" };

	journal_add_begin(b, "boot", "host name", 4, "spread");
	journal_add_step(b, 1, "boot", &one);
	journal_add_value(b, "done", 1, 5, "2");
	journal_add_step(b, 2, "boot", &two);
	journal_add_failed(b, 2, 6, EIO);
	journal_add_end(b, "applied", 7);
}

static void test_journal(void)
{
	struct buf b = { 0 };
	struct journal j = { .count = 9 };

	add_life(&b);
	CHECK(journal_parse(&arena, buf_text(&b), &j) == 0);
	CHECK(j.count == 2 && j.is_applied && !j.is_rolled_back && j.realtime_ns == 4);
	CHECK_STR(j.host, "host name");
	CHECK_STR(j.steps[0].now, "2");
	CHECK_STR(j.steps[1].old, "a\tb");
	CHECK_STR(j.steps[1].new, "");
	CHECK(j.steps[1].err == EIO && !j.steps[0].err && !j.steps[1].now);
	/* cut anywhere: what is there is true */
	EACH_CUT(n, buf_text(&b)) {
		struct journal part = { 0 };
		int err = journal_parse(&arena, cut(buf_text(&b), n), &part);

		CHECK(err == 0 ? part.count <= 2 : n < 26);
		CHECK(part.is_applied == (n == b.len));
	}
	journal_add_value(&b, "undone", 1, 8, "2");
	journal_add_end(&b, "rolled-back", 9);
	CHECK(journal_parse(&arena, buf_text(&b), &j) == 0 && j.is_rolled_back);
	CHECK(j.steps[0].is_undone);
	buf_free(&b);
}

static void test_hostile(void)
{
	static const char *const bad[] = {
		"", "other\n", "perfbox-irqbind-journal 1\nstep\t1\t1\tb\tp\to\tn\n",
		"perfbox-irqbind-journal 1\nbegin\tb\th\t1\tw\nbegin\tb\th\t1\tw\n",
		"perfbox-irqbind-journal 1\nbegin\tb\th\t1\tw\nstep\t2\t1\tb\tp\to\tn\n",
		"perfbox-irqbind-journal 1\nbegin\tb\th\t1\tw\ndone\t1\t1\tv\n",
		"perfbox-irqbind-journal 1\nbegin\tb\th\t1\tw\nstep\t1\t1\tb\tp\to\n",
		"perfbox-irqbind-journal 1\nbegin\tb\th\tx\tw\n",
		"perfbox-irqbind-journal 1\nbegin\tb\th\t1\tw\nburn\t1\n",
		"perfbox-irqbind-journal 1\nbegin\tb\th\t1\t\\q\n",
		"perfbox-irqbind-journal 1\n1\t2\t3\t4\t5\t6\t7\t8\t9\t10\n",
	};
	struct journal j;

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		CHECK(journal_parse(&arena, text_of(bad[i]), &j) == -EINVAL);
}

static int open_in(const char *below, enum journal_use use, struct journal_file *f,
		   struct text *content)
{
	return journal_open(f, at(below), use, &arena, content);
}

static void test_file(void)
{
	struct journal_file f, second;
	struct text content;
	struct buf b = { 0 };

	CHECK(open_in("j", JOURNAL_READ, &f, &content) == -ENOENT);
	CHECK(open_in("j", JOURNAL_CREATE, &f, &content) == 0 && !content.len);
	CHECK(is_mode("j", 0700) && is_mode("j/journal", 0600));
	add_life(&b);
	CHECK(journal_append(&f, &b) == 0);
	CHECK(open_in("j", JOURNAL_APPEND, &second, &content) == -EBUSY);
	CHECK(open_in("j", JOURNAL_CREATE, &second, &content) == -EBUSY);
	journal_close(&f);
	CHECK(open_in("j", JOURNAL_CREATE, &f, &content) == -EEXIST);
	CHECK(open_in("j", JOURNAL_READ, &f, &content) == 0 && content.len == b.len);
	journal_close(&f);
	/* the power went while a line was written: it is cut off before more is */
	int fd = open(at("j/journal"), O_WRONLY | O_APPEND);

	CHECK(fd >= 0 && write(fd, "step\t3\t", 7) == 7);
	close(fd);
	CHECK(open_in("j", JOURNAL_APPEND, &f, &content) == 0 && content.len == b.len);
	buf_reset(&b);
	journal_add_end(&b, "rolled-back", 9);
	CHECK(journal_append(&f, &b) == 0);
	journal_close(&f);
	CHECK(open_in("j", JOURNAL_CREATE, &f, &content) == 0 && is_there("j/journal.old"));
	journal_close(&f);
	buf_free(&b);
}

static void test_folder(void)
{
	struct journal_file f;
	struct text content;

	make("open");
	CHECK(open_in("open", JOURNAL_CREATE, &f, &content) == -EPERM);
	CHECK(!symlink("j", at("link")));
	CHECK(open_in("link", JOURNAL_READ, &f, &content) == -ELOOP);
	CHECK(!mkdir(at("inside"), 0700) && !symlink("../j/journal", at("inside/journal")));
	CHECK(open_in("inside", JOURNAL_APPEND, &f, &content) == -ELOOP);
	CHECK(open_in("inside", JOURNAL_CREATE, &f, &content) == -ELOOP);
	put_text("file", "x");
	CHECK(open_in("file", JOURNAL_CREATE, &f, &content) == -ENOTDIR);
}

int main(void)
{
	if (!scratch_begin("journal"))
		return 1;
	test_kinds();
	test_values();
	test_tree();
	test_plan();
	test_journal();
	test_hostile();
	test_file();
	test_folder();
	arena_free(&arena);
	scratch_end();
	return check_done("journal");
}
