#include "common/report/outfile.h"

#include <errno.h>

#include "tests/unit/scratch.h"

static char *content(const char *path)
{
	static char text[64];
	FILE *f = fopen(path, "r");

	if (!f)
		return NULL;
	text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
	fclose(f);
	return text;
}

static unsigned names_in(const char *folder)
{
	char command[600];

	snprintf(command, sizeof(command), "exit $(ls -A '%s' | wc -l)", folder);
	const int status = system(command);

	return WIFEXITED(status) ? (unsigned)WEXITSTATUS(status) : 0;
}

static void test_renamed(void)
{
	struct outfile *f;
	struct stat s;

	CHECK(!mkdir(at("d"), 0755));
	CHECK(!outfile_open(at("d/x"), &f));
	fputs("whole", outfile_stream(f));
	CHECK(access(at("d/x"), F_OK) < 0);
	CHECK(!outfile_close(f, true));
	CHECK_STR(content(at("d/x")), "whole");
	CHECK(names_in(at("d")) == 1);
	CHECK(!chmod(at("d/x"), 0640));
	CHECK(!outfile_open(at("d/x"), &f));
	fputs("half", outfile_stream(f));
	CHECK_STR(content(at("d/x")), "whole");
	CHECK(!outfile_close(f, false));
	CHECK_STR(content(at("d/x")), "whole");
	CHECK(names_in(at("d")) == 1);
	CHECK(!outfile_open(at("d/x"), &f) && !outfile_close(f, true));
	CHECK_STR(content(at("d/x")), "");
	CHECK(!stat(at("d/x"), &s) && (s.st_mode & 0777) == 0640);
}

/* The link stays, its file is replaced; what is no file is written where it stands. */
static void test_others(void)
{
	struct outfile *f;
	struct stat s;

	put_text("d/target", "old");
	CHECK(!symlink("target", at("d/link")));
	CHECK(!outfile_open(at("d/link"), &f));
	fputs("new", outfile_stream(f));
	CHECK(!outfile_close(f, true));
	CHECK(!lstat(at("d/link"), &s) && S_ISLNK(s.st_mode));
	CHECK_STR(content(at("d/target")), "new");
	CHECK(!outfile_open("/dev/null", &f));
	fputs("gone", outfile_stream(f));
	CHECK(!outfile_close(f, true));
	CHECK(!stat("/dev/null", &s) && S_ISCHR(s.st_mode));
	CHECK(outfile_open(at("d"), &f) == -EISDIR);
	CHECK(outfile_open(at("none/x"), &f) == -ENOENT);
	CHECK(outfile_open("", &f) == -EINVAL);
	if (!access("/dev/full", W_OK)) {
		CHECK(!outfile_open("/dev/full", &f));
		fputs("x", outfile_stream(f));
		CHECK(outfile_close(f, true) == -ENOSPC);
	}
	CHECK(!outfile_close(NULL, true));
}

int main(void)
{
	if (!scratch_begin("outfile"))
		return 1;
	test_renamed();
	test_others();
	scratch_end();
	return check_done("outfile");
}
