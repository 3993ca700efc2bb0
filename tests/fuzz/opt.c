/* A command line of any bytes, its words split at NUL. */
#include "common/report/opt.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/fail.h"
#include "common/base/mem.h"
#include "tests/unit/formats.h"

#define WORDS_MAX 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct {
	bool all, json;
	const char *comm, *by;
	uint64_t top, delay_ns;
	struct opt_numbers pids;
	struct opt_texts events;
} got;

static const struct opt own[] = {
	{ 'a', "all", NULL, "everything", OPT_FLAG, &got.all, false, NULL },
	{ 't', "tcp", NULL, "a habit", OPT_NOTHING, NULL, true, NULL },
	{ 'C', "comm", "RE", "only these commands", OPT_TEXT, &got.comm, false, NULL },
	{ 0, "by", "KEY", "sum by", OPT_TEXT, &got.by, false, "thread|process|" },
	{ 'p', "pid", "PID", "these processes", OPT_NUMBERS, &got.pids, false, NULL },
	{ 'e', "event", "EVENT", "count this", OPT_TEXTS, &got.events, false, NULL },
	{ 0, NULL, NULL, NULL, OPT_FLAG, NULL, false, NULL },
};

static const struct opt common[] = {
	{ 'j', "json", NULL, "JSON lines", OPT_FLAG, &got.json, false, NULL },
	{ 'n', "top", "N", "rows of a table", OPT_NUMBER, &got.top, false, NULL },
	{ 'd', "delay", "TIME", "wait", OPT_DURATION, &got.delay_ns, false, NULL },
	{ 0, NULL, NULL, NULL, OPT_FLAG, NULL, false, NULL },
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *line = mem_alloc(size + 1), *argv[WORDS_MAX + 1] = { (char *)"perfbox" };
	int argc = 1;

	memset(&got, 0, sizeof(got));
	if (size)
		memcpy(line, data, size);
	for (char *at = line; at < line + size && argc < WORDS_MAX; at += strlen(at) + 1)
		argv[argc++] = at;
	argv[argc] = NULL;
	fail(EINVAL, "nothing said");
	int operands = opt_parse(argc, argv, own, common);

	assert(operands == -EINVAL || (operands >= 0 && operands < argc));
	if (operands < 0) {
		assert(strcmp(fail_text(), "nothing said") != 0);
		assert(is_printable(fail_text(), strlen(fail_text()), false, true));
		assert(!strchr(fail_text(), '\n'));
	} else {
		assert(!argv[operands + 1] && got.top != UINT64_MAX && got.delay_ns != UINT64_MAX);
	}
	for (int i = 1; i <= operands; i++)
		assert(argv[i] >= line && argv[i] <= line + size);
	free(got.pids.items);
	free(got.events.items);
	free(line);
	return 0;
}
