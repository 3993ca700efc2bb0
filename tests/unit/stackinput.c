#include "common/stack/stackinput.h"

#include <errno.h>
#include <fcntl.h>
#include <lzma.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "common/base/fail.h"
#include "common/stack/decompress.h"
#include "tests/unit/stacks.h"

static char packed[1 << 20];

static struct text gzip(struct text t)
{
	z_stream z = { 0 };

	deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
	z.next_in = (Bytef *)(uintptr_t)t.data;
	z.avail_in = (uInt)t.len;
	z.next_out = (Bytef *)packed;
	z.avail_out = sizeof(packed);
	CHECK(deflate(&z, Z_FINISH) == Z_STREAM_END);
	deflateEnd(&z);
	return (struct text){ packed, sizeof(packed) - z.avail_out };
}

static struct text zstd(struct text t)
{
	return (struct text){ packed, ZSTD_compress(packed, sizeof(packed), t.data, t.len, 3) };
}

static struct text xz(struct text t)
{
	size_t len = 0;

	CHECK(lzma_easy_buffer_encode(1, LZMA_CHECK_CRC32, NULL, (const uint8_t *)t.data, t.len,
				      (uint8_t *)packed, &len, sizeof(packed)) == LZMA_OK);
	return (struct text){ packed, len };
}

static int memory_file(struct text t)
{
	const int fd = memfd_create("stackinput", 0);

	CHECK(fd >= 0 && write(fd, t.data, t.len) == (ssize_t)t.len && !lseek(fd, 0, SEEK_SET));
	return fd;
}

static int last_error;
static struct stack_result read_result;
static struct text read_start;

/* What the bytes of fd fold to, read as an input. */
static const char *fold_fd(int fd)
{
	static char *text;
	static struct stack_reader *r;
	struct fold *f = fold_new();
	struct stack_input *in = stack_input_new(fd);
	size_t len;

	free(text);
	stack_reader_free(r);
	r = NULL;
	text = NULL;
	read_result = (struct stack_result){ 0 };
	last_error = stack_input_start(in, &read_start);
	const enum stack_kind kind = last_error ? STACK_UNKNOWN : stack_kind_of(read_start);

	if (kind) {
		r = stack_reader_new(kind, f, &stack_options);
		last_error = stack_input_feed(in, r);
		read_result = *stack_reader_end(r);
		FILE *to = open_memstream(&text, &len);

		fold_write(f, false, to);
		fclose(to);
	} else if (!last_error) {
		last_error = stack_input_error(in);
	}
	stack_input_free(in);
	fold_free(f);
	close(fd);
	return text ? text : "unknown";
}

static const char *fold_bytes(struct text t)
{
	return fold_fd(memory_file(t));
}

static void test_plain(void)
{
	CHECK_STR(fold_bytes(TEXT("a;b 1\na;c 2\n")), "a;b 1\na;c 2\n");
	CHECK_STR(fold_bytes(TEXT("a;b 1\na;c 2")), "a;b 1\na;c 2\n");
	CHECK_STR(fold_bytes(TEXT("a")), "unknown");
	CHECK_STR(fold_bytes(TEXT("")), "unknown");
	CHECK(!last_error && !read_start.len);
	CHECK_STR(fold_bytes(TEXT("\xef\xbb\xbf" "a;b 1\n")), "a;b 1\n");
	CHECK_STR(fold_fd(open("/", O_RDONLY)), "unknown");
	CHECK(last_error == -EISDIR && strstr(fail_text(), "cannot be read: "));
}

static void test_compressed(void)
{
	const struct text t = TEXT("a;b 1\na;c 2\n");
	struct text (*const pack[])(struct text) = { gzip, zstd, xz };
	static const char *const names[] = { "gzip", "zstd", "xz" };

	for (size_t i = 0; i < 3; i++) {
		struct text p = pack[i](t);
		char twice[1024], words[64];

		CHECK_STR(fold_bytes(p), "a;b 1\na;c 2\n");
		CHECK(!last_error);
		memcpy(twice, p.data, p.len);
		memcpy(twice + p.len, p.data, p.len);
		CHECK_STR(fold_bytes((struct text){ twice, 2 * p.len }), "a;b 2\na;c 4\n");
		CHECK(!last_error);
		/* cut: what is whole is there, and the end is an error */
		for (size_t n = 6; n < p.len; n++) {
			fold_bytes((struct text){ twice, n });
			CHECK(last_error == -EINVAL && read_result.samples <= 2);
		}
		snprintf(words, sizeof(words), "%s data that ends early", names[i]);
		CHECK_STR(fail_text(), words);
		/* any byte wrong: an error, or the same stacks */
		for (size_t n = 6; n < p.len; n++) {
			memcpy(packed, twice, p.len);
			packed[n] ^= 0x55;
			fold_bytes((struct text){ packed, p.len });
		}
	}
	CHECK(compression_of(TEXT("a;b 1")) == COMPRESSION_NONE);
	CHECK(compression_of(TEXT("\x1f\x8b")) == COMPRESSION_NONE);
	CHECK(compression_of(TEXT("")) == COMPRESSION_NONE);
	/* more than one piece */
	char *big = malloc(900000);

	for (size_t i = 0; i < 900000; i += 10)
		memcpy(big + i, "abc;def 1\n", 10);
	for (size_t i = 0; i < 3; i++)
		CHECK_STR(fold_bytes(pack[i]((struct text){ big, 900000 })), "abc;def 90000\n");
	CHECK_STR(fold_bytes((struct text){ big, 900000 }), "abc;def 90000\n");
	free(big);
}

static void test_utf16(void)
{
	static const char le[] = "\xff\xfe" "a\0;\0\xe9\0 \0" "1\0\r\0\n"
		"\0\x3d\xd8\x00\xde;\0x\0 \0" "2\0\n";
	static const char be[] = "\xfe\xff\0a\0;\0\xe9\0 \0" "1\0\n\xd8\x3d\0 \0" "7\0\n\0";

	CHECK_STR(fold_bytes((struct text){ le, sizeof(le) }),
		  "a;\xc3\xa9 1\n\xf0\x9f\x98\x80;x 2\n");
	CHECK_STR(fold_bytes((struct text){ be, sizeof(be) - 2 }),
		  "a;\xc3\xa9 1\n\xef\xbf\xbd 7\n");
	/* pieces: each unit by itself through a pipe is the same */
	char *big = malloc(2 + 400000 * 2);

	memcpy(big, "\xff\xfe", 2);
	for (size_t i = 0; i < 400000; i++) {
		big[2 + 2 * i] = "ab;c 1\n\n"[i % 8];
		big[3 + 2 * i] = 0;
	}
	CHECK_STR(fold_bytes((struct text){ big, 2 + 800000 }), "ab;c 50000\n");
	free(big);
}

/* Writes lines of which one is longer than STACK_LINE_MAX. */
static void *write_long(void *arg)
{
	const int fd = *(int *)arg;
	static char part[1 << 16];
	ssize_t n = write(fd, "a;b 1\n", 6);

	memset(part, 'x', sizeof(part));
	for (size_t i = 0; i < (STACK_LINE_MAX >> 16) + 40 && n > 0; i++)
		n = write(fd, part, sizeof(part));
	if (n > 0)
		n = write(fd, " 7\na;b 2\n", 9);
	close(fd);
	return NULL;
}

static void test_long_line(void)
{
	int fds[2];
	pthread_t writer;

	if (pipe(fds) || pthread_create(&writer, NULL, write_long, &fds[1])) {
		CHECK(!"a pipe and a thread");
		return;
	}
	CHECK_STR(fold_fd(fds[0]), "a;b 3\n");
	pthread_join(writer, NULL);
	CHECK(read_result.skipped_lines == 1 && read_result.first_skipped_line == 2);
	CHECK_STR(read_result.first_skipped_why, "longer than 16 MiB");
}

static void test_bytes(void)
{
	const struct text t = gzip(TEXT("PERFILE2rest"));
	const int fd = memory_file(t);
	struct stack_input *in = stack_input_new(fd);
	struct text start;
	char to[64];

	CHECK(!stack_input_start(in, &start) && text_is(start, "PERFILE2rest"));
	CHECK(!stack_input_is_plain(in));
	CHECK(stack_input_read(in, to, 8) == 8 && !memcmp(to, "PERFILE2", 8));
	CHECK(stack_input_read(in, to, 64) == 4 && stack_input_read(in, to, 64) == 0);
	stack_input_free(in);
	close(fd);
}

int main(void)
{
	test_plain();
	test_compressed();
	test_utf16();
	test_long_line();
	test_bytes();
	fold_bytes(TEXT(""));
	return check_done("stackinput");
}
