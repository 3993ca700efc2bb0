#include "common/stack/unwind.h"

#include <sys/mman.h>
#include <unistd.h>

#include "tests/unit/check.h"
#include "tests/unit/elfmake.h"

#define CODE (SHF_ALLOC | SHF_EXECINSTR)
#define TEXT_AT 0x401000u
#define MAPPED 0x555500000000ull       /* where the code is mapped */
#define STACK 0x7ffc00001000ull
#define JIT 0x7f0000000000ull

/* Functions, 64 bytes each. */
#define LEAF 0x00                      /* CFA rsp+8 */
#define FRAME 0x40                     /* rbp+16 */
#define FIRST 0x80                     /* nobody called it */
#define SIGNAL 0xc0                    /* a signal's frame */
#define STILL 0x100                    /* keeps its stack pointer, returns to rbx */
#define STUB 0x140                     /* a PLT's: CFA by an expression */
#define LOST 0x180                     /* returns to what it saved where nothing is */
#define BARE 0x1c0                     /* without information */
#define ENDS 0x200

static void add_length(struct buf *b, size_t at)
{
	const uint32_t len = (uint32_t)(b->len - at - 4);

	memcpy(b->data + at, &len, 4);
}

static size_t begin_entry(struct buf *b)
{
	const size_t at = b->len;

	buf_add(b, "\0\0\0\0", 4);
	return at;
}

static void end_entry(struct buf *b, size_t at)
{
	while (b->len % 8)
		buf_add_char(b, '\0');         /* DW_CFA_nop */
	add_length(b, at);
}

/* is_eh: as in .eh_frame, else .debug_frame. */
static size_t add_cie(struct buf *b, bool is_eh, bool is_signal, unsigned return_register,
		      const char *instructions, size_t len)
{
	const size_t at = begin_entry(b);

	buf_add(b, is_eh ? "\0\0\0\0" : "\xff\xff\xff\xff", 4);
	buf_add_char(b, 1);
	if (is_eh)
		buf_add(b, is_signal ? "zRS" : "zR", is_signal ? 4 : 3);
	else
		buf_add(b, "", 1);
	buf_add(b, "\1\x78", 2);               /* in bytes, and in eights downwards */
	buf_add_char(b, (char)return_register);
	if (is_eh)
		buf_add(b, "\1\0", 2);         /* whole addresses */
	buf_add(b, instructions, len);
	end_entry(b, at);
	return at;
}

static void add_fde(struct buf *b, bool is_eh, size_t cie, unsigned function,
		    const char *instructions, size_t len)
{
	const size_t at = begin_entry(b);
	const uint32_t pointer = (uint32_t)(is_eh ? b->len - cie : cie);
	const uint64_t range[] = { TEXT_AT + function, 0x40 };

	buf_add(b, &pointer, 4);
	buf_add(b, range, sizeof(range));
	if (is_eh)
		buf_add_char(b, '\0');
	buf_add(b, instructions, len);
	end_entry(b, at);
}

#define ADD_FDE(b, is_eh, cie, function, text) \
	add_fde(b, is_eh, cie, function, text, sizeof(text) - 1)

static void make_frames(struct buf *b, bool is_eh)
{
	/* DW_CFA_def_cfa rsp 8, DW_CFA_offset ra 1 */
	const size_t cie = add_cie(b, is_eh, false, 16, "\x0c\7\x08\x90\1", 5);

	ADD_FDE(b, is_eh, cie, LEAF, "");
	/* from byte 4: def_cfa_offset 16, offset rbp 2, def_cfa_register rbp */
	ADD_FDE(b, is_eh, cie, FRAME, "\x44\x0e\x10\x86\2\x0d\6");
	ADD_FDE(b, is_eh, cie, FIRST, "\7\x10");               /* undefined ra */
	/* def_cfa rsp 0, register ra rbx */
	ADD_FDE(b, is_eh, cie, STILL, "\x0c\7\0\x09\x10\3");
	/* rsp + 8, and 8 more from the stub's byte 11 on */
	ADD_FDE(b, is_eh, cie, STUB, "\x0f\x0b\x77\x08\x80\0\x3f\x1a\x3b\x2a\x33\x24\x22");
	/* def_cfa rsp 8, offset_extended_sf ra -4096 */
	ADD_FDE(b, is_eh, cie, LOST, "\x11\x10\x80\x60");
	if (is_eh) {
		/* def_cfa rsp 32, ra 8 below, rsp 16 below */
		const size_t signal = add_cie(b, true, true, 16, "\x0c\7\x20\x90\1\x87\2", 7);

		ADD_FDE(b, true, signal, SIGNAL, "");
		buf_add(b, "\0\0\0\0", 4);
	}
}

/* The object's file in memory, which has a path too; closed with it. */
struct program {
	int fd;
	char path[64];
	uint64_t text_offset;
};

static struct program make_program(bool is_eh, size_t damaged_at)
{
	unsigned char code[ENDS];
	struct buf frames = { 0 };
	struct program p;
	struct elfmake m;

	memset(code, 0xe8, sizeof(code));      /* a call ends anywhere */
	make_frames(&frames, is_eh);
	elfmake_begin(&m, ET_DYN, EM_X86_64);
	elfmake_load(&m, elfmake_section(&m, ".text", SHT_PROGBITS, CODE, TEXT_AT, code, ENDS),
		     PF_R | PF_X);
	p.text_offset = m.sections[1].sh_offset;
	if (is_eh)
		elfmake_load(&m, elfmake_section(&m, ".eh_frame", SHT_PROGBITS, SHF_ALLOC,
						 0x402000, frames.data, frames.len), PF_R);
	else
		elfmake_section(&m, ".debug_frame", SHT_PROGBITS, 0, 0, frames.data, frames.len);
	const struct text image = elfmake_end(&m);

	if (damaged_at < image.len)
		m.bytes.data[damaged_at] ^= 0xff;
	p.fd = memfd_create("program", MFD_CLOEXEC);
	CHECK(write(p.fd, image.data, image.len) == (ssize_t)image.len);
	snprintf(p.path, sizeof(p.path), "/proc/self/fd/%d", p.fd);
	buf_free(&frames);
	buf_free(&m.bytes);
	return p;
}

static bool find_map(void *arg, uint64_t address, struct symbols_map *map)
{
	const struct program *p = arg;

	if (address - MAPPED < ENDS) {
		*map = (struct symbols_map){
			.path = p->path, .start = MAPPED, .end = MAPPED + ENDS,
			.pgoff = p->text_offset,
		};
		return true;
	}
	if (address - JIT < 0x1000) {
		*map = (struct symbols_map){ .path = "//anon", .start = JIT, .end = JIT + 0x1000 };
		return true;
	}
	return false;
}

/* perf's order: ax bx cx dx si di bp sp ip ... r8 to r15 */
#define MASK 0xff0fffull
struct registers {
	uint64_t ax, bx, cx, dx, si, di, bp, sp, ip, flags, cs, ss, r8[8];
};

#define IPS 8

struct result {
	uint64_t ips[IPS];
	size_t count;
	enum unwind_end end;
};

static struct result run(struct program *p, struct registers r, const uint64_t *stack, size_t words,
			 uint64_t abi)
{
	static const struct symbols_options plain;
	struct symbols *s = symbols_new(&plain);
	struct result out = { .count = 0 };
	uint64_t registers[20];

	memcpy(registers, &r, sizeof(registers));
	const struct unwind_sample sample = {
		.machine = UNWIND_X86_64, .abi = abi, .mask = MASK, .registers = registers,
		.register_count = 20, .stack = { (const char *)stack, words * 8 },
	};

	out.count = unwind_stack(s, &sample, find_map, p, out.ips, IPS, &out.end);
	symbols_free(s);
	return out;
}

static bool is_so(const struct result *r, enum unwind_end end, size_t count, const uint64_t *ips)
{
	bool same = r->end == end && r->count == count;

	for (size_t i = 0; same && i < count; i++)
		same = r->ips[i] == ips[i];
	if (!same) {
		printf("    %zu frames, %s:", r->count, unwind_end_text(r->end));
		for (size_t i = 0; i < r->count; i++)
			printf(" %llx", (unsigned long long)r->ips[i]);
		printf("\n");
	}
	return same;
}

#define IS(r, end, ...) do {                                                        \
	const uint64_t expected[] = { __VA_ARGS__ };                                \
	const struct result got = (r);                                              \
	CHECK(is_so(&got, end, sizeof(expected) / sizeof(*expected), expected));    \
} while (0)

/* leaf, called by frame, called by first */
static const uint64_t plain_stack[] = {
	MAPPED + FRAME + 0x20, 1, 2, 3, 4, 5, 6, 7, 0xb0b, MAPPED + FIRST + 0x10, 0,
};

static struct registers at_leaf(void)
{
	return (struct registers){ .ip = MAPPED + LEAF + 0x10, .sp = STACK, .bp = STACK + 0x40 };
}

static void check_plain(bool is_eh)
{
	struct program p = make_program(is_eh, SIZE_MAX);
	const struct registers leaf = at_leaf();
	struct registers r;

	IS(run(&p, leaf, plain_stack, 11, 2), UNWIND_WHOLE, MAPPED + LEAF + 0x10,
	   MAPPED + FRAME + 0x1f, MAPPED + FIRST + 0x0f);
	IS(run(&p, leaf, plain_stack, 9, 2), UNWIND_CUT_STACK, MAPPED + LEAF + 0x10,
	   MAPPED + FRAME + 0x1f);
	IS(run(&p, leaf, plain_stack, 0, 2), UNWIND_CUT_STACK, MAPPED + LEAF + 0x10);
	IS(run(&p, leaf, plain_stack, 11, 1), UNWIND_32_BIT, MAPPED + LEAF + 0x10);
	CHECK(run(&p, leaf, plain_stack, 11, 0).end == UNWIND_NO_REGISTERS);

	/* at a function's first instruction its frame is not there yet */
	r = (struct registers){ .ip = MAPPED + FRAME, .sp = STACK + 0x48, .bp = 0xbad };
	IS(run(&p, r, plain_stack + 9, 2, 2), UNWIND_WHOLE, MAPPED + FRAME,
	   MAPPED + FIRST + 0x0f);
	close(p.fd);
}

static void check_odd(void)
{
	struct program p = make_program(true, SIZE_MAX);
	struct registers r = at_leaf();
	uint64_t stack[16];

	/* interrupted, not called: its address is looked up as it is, its stack is anywhere */
	const uint64_t signal[] = { 0, 0, STACK + 0x28, MAPPED + LEAF, 0, MAPPED + FIRST + 1 };

	r.ip = MAPPED + SIGNAL + 4;
	IS(run(&p, r, signal, 6, 2), UNWIND_WHOLE, MAPPED + SIGNAL + 4, MAPPED + LEAF,
	   MAPPED + FIRST);

	r.ip = r.bx = MAPPED + STILL + 8;
	IS(run(&p, r, plain_stack, 11, 2), UNWIND_LOOP, MAPPED + STILL + 8);
	r.bx = MAPPED + FIRST + 8;
	IS(run(&p, r, plain_stack, 11, 2), UNWIND_WHOLE, MAPPED + STILL + 8, MAPPED + FIRST + 7);

	const uint64_t stub[] = { MAPPED + FIRST + 1, MAPPED + FIRST + 9 };

	r.ip = MAPPED + STUB + 0x1a;
	IS(run(&p, r, stub, 2, 2), UNWIND_WHOLE, r.ip, MAPPED + FIRST);
	r.ip = MAPPED + STUB + 0x1b;
	IS(run(&p, r, stub, 2, 2), UNWIND_WHOLE, r.ip, MAPPED + FIRST + 8);

	r.ip = MAPPED + LOST + 8;
	IS(run(&p, r, stub, 2, 2), UNWIND_CUT_STACK, r.ip);
	r.ip = MAPPED + BARE + 8;
	r.bp = 0;
	IS(run(&p, r, stub, 2, 2), UNWIND_NO_CFI, r.ip);
	r.ip = 0x1234;
	IS(run(&p, r, stub, 2, 2), UNWIND_NO_MAP, 0x1234);
	r.ip = MAPPED + LEAF + 8;
	stack[0] = 0x1234;
	IS(run(&p, r, stack, 1, 2), UNWIND_NO_MAP, r.ip);
	stack[0] = 0;
	IS(run(&p, r, stack, 1, 2), UNWIND_WHOLE, r.ip);

	for (unsigned i = 0; i < 16; i++)
		stack[i] = MAPPED + LEAF + 9;
	const struct result deep = run(&p, r, stack, 16, 2);

	CHECK(deep.end == UNWIND_TOO_DEEP && deep.count == IPS);

	/* a JIT's frames by their frame pointers, into code that has information */
	const uint64_t jit[] = { 0, STACK + 0x20, JIT + 0x50, 0, STACK + 0x90, MAPPED + FIRST + 1 };

	r.ip = JIT + 0x10;
	r.bp = STACK + 8;
	IS(run(&p, r, jit, 6, 2), UNWIND_WHOLE, JIT + 0x10, JIT + 0x4f, MAPPED + FIRST);
	r.bp = STACK + 0x20;
	IS(run(&p, r, jit, 5, 2), UNWIND_NO_CFI, JIT + 0x10);
	close(p.fd);
	snprintf(p.path, sizeof(p.path), "/nowhere/program");
	r = at_leaf();
	IS(run(&p, r, plain_stack, 11, 2), UNWIND_NO_FILE, r.ip);
}

/* arm64: the return address is in a register until it is saved, and may carry a signature. */
static void check_arm64(void)
{
	static const char code[ENDS];
	static const struct symbols_options plain;
	struct buf frames = { 0 };
	struct elfmake m;
	struct program p;
	/* def_cfa sp 0 */
	const size_t cie = add_cie(&frames, true, false, 30, "\x0c\x1f\0", 3);

	ADD_FDE(&frames, true, cie, LEAF, "");
	/* def_cfa_offset 16, offset x29 2, offset x30 1 */
	ADD_FDE(&frames, true, cie, FRAME, "\x0e\x10\x9d\2\x9e\1");
	ADD_FDE(&frames, true, cie, FIRST, "\7\x1e");
	buf_add(&frames, "\0\0\0\0", 4);
	elfmake_begin(&m, ET_DYN, EM_AARCH64);
	elfmake_load(&m, elfmake_section(&m, ".text", SHT_PROGBITS, CODE, TEXT_AT, code, ENDS),
		     PF_R | PF_X);
	p.text_offset = m.sections[1].sh_offset;
	elfmake_load(&m, elfmake_section(&m, ".eh_frame", SHT_PROGBITS, SHF_ALLOC, 0x402000,
					 frames.data, frames.len), PF_R);
	const struct text image = elfmake_end(&m);

	p.fd = memfd_create("program", MFD_CLOEXEC);
	CHECK(write(p.fd, image.data, image.len) == (ssize_t)image.len);
	snprintf(p.path, sizeof(p.path), "/proc/self/fd/%d", p.fd);
	buf_free(&frames);
	buf_free(&m.bytes);

	uint64_t registers[33] = { 0 }, ips[IPS];
	const uint64_t stack[] = { 0, (MAPPED + FIRST + 0x10) | 0x3aull << 56 };
	const struct unwind_sample sample = {
		.machine = UNWIND_ARM64, .abi = 2, .mask = 0x1ffffffffull,
		.registers = registers, .register_count = 33,
		.stack = { (const char *)stack, sizeof(stack) },
	};
	struct symbols *s = symbols_new(&plain);
	enum unwind_end end;

	registers[30] = MAPPED + FRAME + 0x20;
	registers[31] = STACK;
	registers[32] = MAPPED + LEAF + 4;
	CHECK(unwind_stack(s, &sample, find_map, &p, ips, IPS, &end) == 3);
	CHECK(end == UNWIND_WHOLE);
	CHECK(ips[0] == MAPPED + LEAF + 4 && ips[1] == MAPPED + FRAME + 0x1f &&
	      ips[2] == MAPPED + FIRST + 0x0f);
	symbols_free(s);
	close(p.fd);
}

/* A file that is damaged anywhere: less is found, nothing breaks. */
static void check_damaged(bool is_eh)
{
	struct program whole = make_program(is_eh, SIZE_MAX);
	const off_t size = lseek(whole.fd, 0, SEEK_END);

	close(whole.fd);
	for (off_t i = 0; i < size; i++) {
		if (i >= 0x120 && i < 0x120 + ENDS - 64)
			continue;              /* code, which nobody reads */
		struct program p = make_program(is_eh, (size_t)i);
		const struct result r = run(&p, at_leaf(), plain_stack, 11, 2);

		CHECK(r.count >= 1 && r.count <= IPS && r.end < UNWIND_ENDS);
		close(p.fd);
	}
}

int main(void)
{
	check_plain(true);
	check_plain(false);
	check_odd();
	check_arm64();
	check_damaged(true);
	check_damaged(false);
	CHECK_STR(unwind_end_text(UNWIND_WHOLE), "whole");
	return check_done("unwind");
}
