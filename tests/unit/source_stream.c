/* Replies in pieces: nothing kept live, the same pieces again once they are saved. */
#include "common/kernel/source.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/unit/check.h"
#include "tests/unit/scratch.h"

#define LARGE 100000

static unsigned fetched;
static struct buf got;                 /* "[piece]" each */
static int refuse_at;                  /* `each` says no to this piece, from 1; 0: to none */
static int pieces;

/* "a,bb,,!": pieces, and "!" is trouble. */
static int fetch(void *arg, src_piece give, void *to)
{
	const char *at = arg;
	int err = 0;

	fetched++;
	while (!err && *at && *at != '!') {
		const size_t len = strcspn(at, ",!");

		err = give((struct text){ at, len }, to);
		at += len + (at[len] == ',');
	}
	return err ? err : *at == '!' ? fail(EPERM, "the stream said no") : 0;
}

static int take(struct text piece, void *arg)
{
	buf_add_char(arg, '[');
	buf_add(arg, piece.data, piece.len);
	buf_add_char(arg, ']');
	return ++pieces == refuse_at ? fail(E2BIG, "enough") : 0;
}

static int stream(const char *key, const char *say)
{
	buf_reset(&got);
	pieces = 0;
	return src_stream(key, fetch, (void *)(uintptr_t)say, take, &got);
}

static bool gives(const char *key, const char *say, const char *expect)
{
	return stream(key, say) == 0 && text_is(buf_text(&got), expect);
}

static void test_live(void)
{
	CHECK(stream("early", "a") == -EINVAL);
	open_live();
	fetched = 0;
	CHECK(gives("k", "a,bb,,c", "[a][bb][][c]") && gives("k", "d", "[d]") && fetched == 2);
	CHECK(gives("nothing", "", "") && got.len == 0);
	CHECK(stream("bad", "a,b!") == -EPERM && text_is(buf_text(&got), "[a][b]"));
	CHECK_STR(fail_text(), "the stream said no");
	refuse_at = 2;
	CHECK(stream("k", "a,b,c") == -E2BIG && text_is(buf_text(&got), "[a][b]"));
	CHECK_STR(fail_text(), "enough");
	refuse_at = 0;
	close_all();
}

static int take_and_call(struct text piece, void *arg);

static int fetch_word(void *arg, struct buf *reply)
{
	buf_add_text(reply, arg);
	return 0;
}

/* Calls and streams from inside a piece: each has its own number. */
static int take_and_call(struct text piece, void *arg)
{
	struct text t;
	char key[16];

	snprintf(key, sizeof(key), "inner %.*s", (int)piece.len, piece.data);
	CHECK(!src_call(key, fetch_word, key, &t) && text_is(t, key));
	CHECK(!src_stream("inner", fetch, (void *)(uintptr_t)"x,y", take, arg));
	return 0;
}

/* The same questions in each frame; what is fetched differs. */
static void ask_all(bool is_first)
{
	struct text t;

	CHECK(gives("k", is_first ? "a,bb,,c" : "second", is_first ? "[a][bb][][c]" : "[second]"));
	CHECK(gives("k", "not asked again", is_first ? "[a][bb][][c]" : "[second]"));
	CHECK(gives("nothing", "", ""));
	CHECK(stream("bad", "a,b!") == -EPERM && text_is(buf_text(&got), "[a][b]"));
	CHECK(stream("bad", "c!") == -EPERM && text_is(buf_text(&got), "[a][b]"));
	CHECK(stream("worse", "!") == -EPERM && got.len == 0);
	refuse_at = 1;
	CHECK(stream("refused", "a,b") == -E2BIG && text_is(buf_text(&got), "[a]"));
	refuse_at = 0;
	/* it was the reader that had enough; what it got stands in the run as a reply */
	CHECK(gives("refused", "not asked again", "[a]"));
	CHECK(!src_call("word", fetch_word, (void *)(uintptr_t)"word", &t) && text_is(t, "word"));
	buf_reset(&got);
	CHECK(!src_stream("outer", fetch, (void *)(uintptr_t)"1,2", take_and_call, &got));
	CHECK(text_is(buf_text(&got), "[x][y][x][y]"));
	src_netns(7);
	CHECK(gives("k", "elsewhere", "[elsewhere]"));
	src_netns(0);
}

static void test_round_trip(void)
{
	CHECK(!src_open_live() && !src_save(at("run"), 0));
	fetched = 0;
	for (int i = 0; i < 2; i++) {
		CHECK(src_frame_begin() == 1);
		ask_all(i == 0);
		CHECK(!src_frame_end());
	}
	src_close();
	CHECK(fetched == 16);
	CHECK(is_there("run/000000/calls/8") && !is_there("run/000000/calls/stream-0"));
	CHECK(is_mode("run/000000/calls/0", 0600));
	for (int turn = 0; turn < 3; turn++) {
		CHECK(!src_open_root(at(turn < 2 ? "run" : "copy")));
		if (turn == 1)
			CHECK(!src_save(at("copy"), 0));
		for (int i = 0; i < 2; i++) {
			CHECK(src_frame_begin() == 1);
			ask_all(i == 0);
			CHECK(stream("never asked", "a") == -ENOENT);
			CHECK_STR(fail_text(), "never asked: not in the saved run");
			CHECK(!src_frame_end());
		}
		src_close();
	}
	CHECK(fetched == 16 && is_there("copy/000001"));
}

static int fetch_large(void *arg, src_piece give, void *to)
{
	const size_t len = *(const size_t *)arg;
	char *data = mem_alloc(len);
	int err = 0;

	for (int i = 0; !err && i < 3; i++) {
		memset(data, 'a' + i, len);
		err = give((struct text){ data, len }, to);
	}
	free(data);
	return err;
}

static int take_large(struct text piece, void *arg)
{
	size_t *sum = arg;

	*sum += piece.len;
	return piece.data[0] == piece.data[piece.len - 1] ? 0 : fail(EINVAL, "mixed");
}

static void test_large(void)
{
	size_t len = LARGE, sum = 0;

	CHECK(!src_open_live() && !src_save(at("large"), 0) && src_frame_begin() == 1);
	CHECK(!src_stream("large", fetch_large, &len, take_large, &sum) && sum == 3 * LARGE);
	CHECK(!src_frame_end());
	src_close();
	sum = 0;
	open_root("large");
	CHECK(!src_stream("large", fetch_large, &len, take_large, &sum) && sum == 3 * LARGE);
	close_all();
	/* more than a replay would take */
	len = SRC_PIECE_MAX + 1;
	CHECK(!src_open_live() && !src_save(at("too-large"), 0) && src_frame_begin() == 1);
	CHECK(!src_stream("large", fetch_large, &len, take_large, &sum));
	CHECK(src_frame_end() == -EFBIG);
	src_close();
}

/* What somebody else wrote. */
static void test_garbled(void)
{
	make("hand"), make("hand/000000"), make("hand/000000/calls");
	put_text("hand/manifest", "perfbox-save 1\n");
	put_text("hand/000000/manifest", "call\tcut\t0\ncall\tlong\t0\ncall\tgone\t0\n"
		 "call\tshort\t0\ncall\tfolder\t0\ncall\tfailed\tEPERM\ncall\tempty\t0\n");
	put("hand/000000/calls/0", "\1\0\0\0a\5\0\0\0bb", 11);
	put("hand/000000/calls/1", "\1\0\0\0a\1\0\x10\0", 9);
	CHECK(!truncate(at("hand/000000/calls/1"), 9 + SRC_PIECE_MAX + 1));
	put("hand/000000/calls/3", "\1\0\0\0a\1\0", 7);
	make("hand/000000/calls/4");
	put_text("hand/000000/calls/6", "");
	open_root("hand");
	CHECK(stream("cut", "") == -EINVAL && text_is(buf_text(&got), "[a]"));
	CHECK_STR(fail_text(), "cut: its saved reply is cut or garbled");
	CHECK(stream("long", "") == -EINVAL && text_is(buf_text(&got), "[a]"));
	CHECK(stream("gone", "") == -ENOENT && stream("short", "") == -EINVAL);
	CHECK(stream("folder", "") == -ENOENT && stream("failed", "") == -EPERM);
	CHECK(gives("empty", "", ""));
	close_all();
}

int main(void)
{
	if (!scratch_begin("perfbox-stream"))
		return 1;
	test_live(), test_round_trip(), test_large(), test_garbled();
	scratch_end();
	buf_free(&got);
	return check_done("source_stream");
}
