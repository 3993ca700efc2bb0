#include "common/kernel/ksymname.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/base/fail.h"
#include "common/base/mem.h"
#include "common/base/scan.h"

/* One page, shared with the program: the question, and the answer behind it. */
#define ANSWER_AT 8
#define ANSWER_BYTES 1024              /* KSYM_SYMBOL_LEN is below 700 */
#define SHARED_BYTES (ANSWER_AT + ANSWER_BYTES)

struct ksymname {
	int format_fd, shared_fd, program_fd;
	volatile uint64_t *shared;
};

static int call(int command, union bpf_attr *attr)
{
	return (int)syscall(SYS_bpf, command, attr, sizeof(*attr));
}

static int make_map(uint32_t value_size, uint32_t flags)
{
	union bpf_attr a = {
		.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = value_size,
		.max_entries = 1, .map_flags = flags,
	};

	return call(BPF_MAP_CREATE, &a);
}

/* A format has to stand where nobody can change it any more. */
static int make_format(void)
{
	const char format[8] = "%pS";
	const uint32_t zero = 0;
	const int fd = make_map(sizeof(format), BPF_F_RDONLY_PROG);
	union bpf_attr put = {
		.map_fd = (uint32_t)fd, .key = (uintptr_t)&zero, .value = (uintptr_t)format,
	};
	union bpf_attr freeze = { .map_fd = (uint32_t)fd };

	if (fd >= 0 && (call(BPF_MAP_UPDATE_ELEM, &put) || call(BPF_MAP_FREEZE, &freeze))) {
		const int err = errno;

		close(fd);
		errno = err;
		return -1;
	}
	return fd;
}

/* Two instructions: the address of a map's value in a register. */
#define LOAD_VALUE(reg, fd, at) \
	{ .code = BPF_LD | BPF_DW | BPF_IMM, .dst_reg = (reg), \
	  .src_reg = BPF_PSEUDO_MAP_VALUE, .imm = (fd) }, \
	{ .imm = (at) }
#define LOAD_NUMBER(reg, n) \
	{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = (reg), .imm = (n) }

/* bpf_snprintf(answer, ANSWER_BYTES, "%pS", &question, 8); return 0 */
static int load_program(const struct ksymname *k)
{
	const struct bpf_insn program[] = {
		LOAD_VALUE(BPF_REG_1, k->shared_fd, ANSWER_AT),
		LOAD_NUMBER(BPF_REG_2, ANSWER_BYTES),
		LOAD_VALUE(BPF_REG_3, k->format_fd, 0),
		LOAD_VALUE(BPF_REG_4, k->shared_fd, 0),
		LOAD_NUMBER(BPF_REG_5, 8),
		{ .code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_snprintf },
		LOAD_NUMBER(BPF_REG_0, 0),
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr a = {
		.prog_type = BPF_PROG_TYPE_SYSCALL, .prog_flags = BPF_F_SLEEPABLE,
		.insns = (uintptr_t)program, .insn_cnt = sizeof(program) / sizeof(*program),
		.license = (uintptr_t)"GPL", .prog_name = "perfbox_ksym",
	};

	return call(BPF_PROG_LOAD, &a);
}

static int open_all(struct ksymname *k)
{
	k->format_fd = make_format();
	if (k->format_fd < 0)
		return fail_errno(errno, "bpf: a map");
	k->shared_fd = make_map(SHARED_BYTES, BPF_F_MMAPABLE);
	if (k->shared_fd < 0)
		return fail_errno(errno, "bpf: a map that is shared");
	void *at = mmap(NULL, SHARED_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, k->shared_fd, 0);

	if (at == MAP_FAILED)
		return fail_errno(errno, "bpf: mapping a map");
	k->shared = at;
	k->program_fd = load_program(k);
	return k->program_fd < 0 ? fail_errno(errno, "bpf: a program that looks symbols up") : 0;
}

int ksymname_open(struct ksymname **opened)
{
	struct ksymname *k = mem_alloc(sizeof(*k));

	*k = (struct ksymname){ -1, -1, -1, NULL };
	const int err = open_all(k);

	if (err < 0) {
		ksymname_close(k);
		return err;
	}
	*opened = k;
	return 0;
}

void ksymname_close(struct ksymname *k)
{
	if (!k)
		return;
	if (k->shared)
		munmap((void *)k->shared, SHARED_BYTES);
	if (k->program_fd >= 0)
		close(k->program_fd);
	if (k->shared_fd >= 0)
		close(k->shared_fd);
	if (k->format_fd >= 0)
		close(k->format_fd);
	free(k);
}

bool ksymname_parse(struct text line, struct ksymname_answer *found)
{
	struct ksymname_answer made = { 0 };
	struct scan s = scan_of(line);
	struct text word;
	uint64_t size;

	if (!scan_word(&s, &word))
		return false;
	/* no symbol has a plus in its name */
	const char *plus = memchr(word.data, '+', word.len);

	if (!plus || plus == word.data)
		return false;
	made.name = (struct text){ word.data, (size_t)(plus - word.data) };
	struct scan numbers = { plus + 1, word.data + word.len };

	if (!scan_literal(&numbers, "0x") || !scan_hex(&numbers, &made.offset) ||
	    !scan_literal(&numbers, "/0x") || !scan_hex(&numbers, &size) ||
	    numbers.at != numbers.end)
		return false;
	if (scan_word(&s, &word) && word.len > 2 && word.data[0] == '[' &&
	    word.data[word.len - 1] == ']')
		made.module = word;
	*found = made;
	return true;
}

bool ksymname_find(struct ksymname *k, uint64_t address, struct ksymname_answer *found)
{
	union bpf_attr a = { .test.prog_fd = (uint32_t)k->program_fd };
	char *answer = (char *)k->shared + ANSWER_AT;

	k->shared[0] = address;
	answer[0] = '\0';
	if (call(BPF_PROG_TEST_RUN, &a))
		return false;
	return ksymname_parse((struct text){ answer, strnlen(answer, ANSWER_BYTES) }, found);
}
