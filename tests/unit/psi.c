#include "common/kernel/psi.h"

#include <errno.h>

#include "common/base/fail.h"
#include "tests/unit/cut.h"
#include "tests/unit/scratch.h"

static void test_recorded(void)
{
	const struct text whole = TEXT("some avg10=11.47 avg60=5.54 avg300=1.49 total=9149910\n"
				       "full avg10=0.00 avg60=0.00 avg300=0.00 total=17\n");
	struct psi p, part;

	CHECK(psi_parse(whole, &p) == 0);
	CHECK(p.some_ns == 9149910000 && p.full_ns == 17000);
	EACH_CUT(n, whole)
		if (psi_parse(cut(whole, n), &part) == 0)
			CHECK(part.some_ns == p.some_ns &&
			      (part.full_ns == NA_U64 || part.full_ns == p.full_ns));
	/* cpu before 5.13 has no full line, irq no some line */
	CHECK(psi_parse(TEXT("some avg10=0.00 avg60=0.00 avg300=0.00 total=5\n"), &p) == 0);
	CHECK(p.some_ns == 5000 && p.full_ns == NA_U64);
	CHECK(psi_parse(TEXT("full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"), &p) == 0);
	CHECK(p.some_ns == NA_U64 && p.full_ns == 0);
}

static void test_hostile(void)
{
	struct psi p = { 1, 2 };

	CHECK(psi_parse(TEXT(""), &p) == -EINVAL);
	CHECK(psi_parse(TEXT("some total=\n"), &p) == -EINVAL);
	CHECK(psi_parse(TEXT("some total=-1\nfull\n"), &p) == -EINVAL);
	CHECK(psi_parse(TEXT("some total=5x\n"), &p) == -EINVAL);
	CHECK(psi_parse(TEXT("some total=18446744073709551615\n"), &p) == -EINVAL);
	CHECK(psi_parse(TEXT("awesome total=5\n"), &p) == -EINVAL);
	CHECK(p.some_ns == 1 && p.full_ns == 2);
	CHECK(psi_parse(TEXT("most total=9\nsome new=1 total=5 more=2\n\n"), &p) == 0);
	CHECK(p.some_ns == 5000 && p.full_ns == NA_U64);
}

static void test_read(void)
{
	struct psi p;

	make("r");
	make("r/proc");
	make("r/proc/pressure");
	put_text("r/proc/pressure/memory", "some total=5\nfull total=3\n");
	put_text("r/proc/pressure/cpu", "what\n");
	put_text("r/manifest", "error\tproc/pressure/io\tEOPNOTSUPP\n");
	open_root("r");
	CHECK(psi_read("proc/pressure/memory", &p) == 0 && p.full_ns == 3000);
	CHECK(psi_read("proc/pressure/cpu", &p) == -EINVAL && p.full_ns == 3000);
	CHECK_STR(fail_text(), "/proc/pressure/cpu: no line with a total");
	CHECK(psi_read("proc/pressure/io", &p) == -EOPNOTSUPP && strstr(fail_text(), "psi=1"));
	CHECK(psi_read("proc/pressure/irq", &p) == -ENOENT && strstr(fail_text(), "IRQ_TIME"));
	CHECK(psi_read("sys/fs/cgroup/cpu.pressure", &p) == -ENOENT);
	CHECK(strstr(fail_text(), "cgroup.pressure"));
	close_all();
}

int main(void)
{
	if (!scratch_begin("psi"))
		return 1;
	test_read();
	scratch_end();
	test_recorded();
	test_hostile();
	return check_done("psi");
}
