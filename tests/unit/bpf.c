#include "common/kernel/bpf.h"

#include <errno.h>
#include <unistd.h>

#include "common/base/fail.h"
#include "tests/unit/check.h"

/* What a kernel may refuse is not a fault here, as long as it is said. */
static void check_probe(const char *name, int err)
{
	if (!err) {
		CHECK(true);
		return;
	}
	CHECK(err < 0);
	CHECK(fail_text()[0] != '\0');
	check_skip(name, fail_text());
}

int main(void)
{
	CHECK(bpf_library_version()[0] == 'v');

	bpf_quiet();
	CHECK_STR(bpf_last_line(), "");
	CHECK(bpf_fail(EPERM, "loading x") == -EPERM);
	CHECK_STR(fail_text(), "loading x: Operation not permitted");

	int err = bpf_probe_load();

	check_probe("bpf_probe_load", err);
	if (geteuid())
		CHECK(!err || err == -EPERM || err == -EACCES || err == -ENOSYS);
	check_probe("bpf_probe_btf", bpf_probe_btf());
	return check_done("bpf");
}
