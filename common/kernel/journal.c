#include "common/kernel/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/scan.h"
#include "common/kernel/source_impl.h"

#define FORMAT "perfbox-irqbind-journal 1"
#define NAME "journal"
#define WORDS_MAX 8

/* ---- reading it ---- */

struct reader {
	struct arena *arena;
	struct journal *journal;
	size_t cap;
	const char *words[WORDS_MAX];
	unsigned word_count;
};

static bool split(struct reader *r, struct text line)
{
	struct scan s = scan_of(line);
	struct text word;

	r->word_count = 0;
	while (s.at <= s.end && r->word_count < WORDS_MAX) {
		bool is_last = !scan_until(&s, '\t', &word);

		if (is_last)
			word = scan_rest(&s);
		if (!src_unescape(word, r->arena, &r->words[r->word_count++]))
			return false;
		if (is_last)
			return true;
	}
	return false;
}

static bool number_of(const char *word, uint64_t *n)
{
	return scan_all_u64(text_of(word), n);
}

static bool take_step(struct reader *r)
{
	struct journal *j = r->journal;
	uint64_t n, time;

	if (r->word_count != 7 || !number_of(r->words[1], &n) || n != j->count + 1 ||
	    n > JOURNAL_STEPS_MAX || !number_of(r->words[2], &time))
		return false;
	if (j->count == r->cap) {
		const size_t cap = r->cap ? 2 * r->cap : 64;
		struct journal_step *more = arena_alloc(r->arena, cap * sizeof(*more));

		if (j->count)
			memcpy(more, j->steps, j->count * sizeof(*more));
		j->steps = more;
		r->cap = cap;
	}
	j->steps[j->count++] = (struct journal_step){ .realtime_ns = time,
						      .path = r->words[4],
						      .old = r->words[5],
						      .new = r->words[6] };
	return true;
}

/* "done", "failed" and "undone" speak of a step that was announced. */
static bool take_outcome(struct reader *r)
{
	const char *what = r->words[0];
	uint64_t n;

	if (r->word_count != 4 || !number_of(r->words[1], &n) || !n || n > r->journal->count)
		return false;
	struct journal_step *s = &r->journal->steps[n - 1];

	if (!strcmp(what, "failed"))
		return src_parse_errno(r->words[3], &s->err);
	if (!strcmp(what, "done"))
		s->now = r->words[3];
	else
		s->is_undone = true;
	return true;
}

static bool take_line(struct reader *r)
{
	struct journal *j = r->journal;
	const char *what = r->words[0];

	if (!strcmp(what, "begin")) {
		if (r->word_count != 5 || j->boot_id || !number_of(r->words[3], &j->realtime_ns))
			return false;
		j->boot_id = r->words[1];
		j->host = r->words[2];
		j->what = r->words[4];
		return true;
	}
	if (!j->boot_id)
		return false;
	if (!strcmp(what, "step"))
		return take_step(r);
	if (!strcmp(what, "done") || !strcmp(what, "failed") || !strcmp(what, "undone"))
		return take_outcome(r);
	if (!strcmp(what, "applied"))
		return j->is_applied = r->word_count == 2;
	return !strcmp(what, "rolled-back") && (j->is_rolled_back = r->word_count == 2);
}

int journal_parse(struct arena *arena, struct text t, struct journal *j)
{
	struct journal new = { 0 };
	struct reader r = { .arena = arena, .journal = &new };
	struct scan lines = scan_of(t);
	struct text line;
	unsigned n = 1;

	if (!scan_until(&lines, '\n', &line) || !text_is(line, FORMAT))
		return fail(EINVAL, "journal line 1: not a journal of irqbind");
	while (scan_until(&lines, '\n', &line)) {
		n++;
		if (!split(&r, line) || !take_line(&r))
			return fail(EINVAL, "journal line %u: not understood", n);
	}
	*j = new;
	return 0;
}

/* ---- its lines ---- */

static void add_number(struct buf *to, uint64_t n)
{
	buf_printf(to, "\t%llu", (unsigned long long)n);
}

void journal_add_begin(struct buf *to, const char *boot_id, const char *host, uint64_t realtime_ns,
		       const char *what)
{
	buf_add_text(to, FORMAT "\nbegin");
	src_add_word(to, boot_id);
	src_add_word(to, host);
	add_number(to, realtime_ns);
	src_add_word(to, what);
	buf_add_char(to, '\n');
}

void journal_add_step(struct buf *to, size_t number, const char *boot_id,
		      const struct journal_step *s)
{
	buf_add_text(to, "step");
	add_number(to, number);
	add_number(to, s->realtime_ns);
	src_add_word(to, boot_id);
	src_add_word(to, s->path);
	src_add_word(to, s->old);
	src_add_word(to, s->new);
	buf_add_char(to, '\n');
}

void journal_add_value(struct buf *to, const char *word, size_t number, uint64_t realtime_ns,
		       const char *value)
{
	buf_add_text(to, word);
	add_number(to, number);
	add_number(to, realtime_ns);
	src_add_word(to, value);
	buf_add_char(to, '\n');
}

void journal_add_failed(struct buf *to, size_t number, uint64_t realtime_ns, int err)
{
	buf_add_text(to, "failed");
	add_number(to, number);
	add_number(to, realtime_ns);
	src_add_errno(to, err);
	buf_add_char(to, '\n');
}

void journal_add_end(struct buf *to, const char *word, uint64_t realtime_ns)
{
	buf_add_text(to, word);
	add_number(to, realtime_ns);
	buf_add_char(to, '\n');
}

/* ---- the file ---- */

static int open_folder(const char *dir, enum journal_use use)
{
	struct stat st;

	if (use == JOURNAL_CREATE && mkdir(dir, 0700) && errno != EEXIST)
		return fail_errno(errno, "%s: cannot be made", dir);
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 && !lstat(dir, &st) && S_ISLNK(st.st_mode))
		return fail(ELOOP, "%s: is a link; a journal is never opened through one", dir);
	if (fd < 0)
		return fail_errno(errno, "%s", dir);
	int err = fstat(fd, &st) ? fail_errno(errno, "%s", dir) :
		st.st_uid != geteuid() ? fail(EPERM, "%s: belongs to somebody else", dir) :
		st.st_mode & 077 ? fail(EPERM, "%s: open to others: it must be 0700", dir) : 0;

	if (err >= 0)
		return fd;
	close(fd);
	return err;
}

/* Whole lines only are read, and what is behind them is cut off before more is written. */
static int read_lines(int fd, const char *dir, enum journal_use use, struct arena *arena,
		      struct text *content)
{
	struct buf b = { 0 };
	struct stat st;
	int err = fstat(fd, &st) ? -errno : !S_ISREG(st.st_mode) ? -EINVAL :
		st.st_uid != geteuid() ? -EPERM : src_read_fd(fd, &b);

	while (!err && b.len && b.data[b.len - 1] != '\n')
		b.len--;
	if (!err && use == JOURNAL_APPEND && ftruncate(fd, (off_t)b.len))
		err = -errno;
	if (!err)
		*content = (struct text){ arena_copy(arena, b.data ? b.data : "", b.len), b.len };
	buf_free(&b);
	return err ? fail_errno(-err, "%s/" NAME, dir) : 0;
}

/* What a journal that is there means for a new one: 0 if it may go. */
static int put_aside(int folder, const char *dir)
{
	struct arena arena = { 0 };
	struct text content;
	struct journal j = { 0 };
	int fd = openat(folder, NAME, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return errno == ENOENT ? 0 : fail_errno(errno, "%s/" NAME, dir);
	int err = flock(fd, LOCK_EX | LOCK_NB) ?
		fail(EBUSY, "%s: another irqbind is at work", dir) :
		read_lines(fd, dir, JOURNAL_READ, &arena, &content);

	/* one whose first line never reached the disk announced nothing */
	if (err >= 0 && content.len)
		err = journal_parse(&arena, content, &j);
	if (err >= 0 && !j.is_rolled_back && j.count)
		err = fail(EEXIST, "%s: holds a journal that is in force (%zu steps): irqbind "
				   "--rollback it first, or take another folder", dir, j.count);
	arena_free(&arena);
	if (err >= 0 && renameat(folder, NAME, folder, NAME ".old"))
		err = fail_errno(errno, "%s/" NAME, dir);
	close(fd);
	return err;
}

static int open_file(struct journal_file *f, const char *dir, enum journal_use use,
		     struct arena *arena, struct text *content)
{
	const int flags = O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;
	int err = use == JOURNAL_CREATE ? put_aside(f->dir, dir) : 0;

	if (err < 0)
		return err;
	f->fd = use == JOURNAL_CREATE ? openat(f->dir, NAME, flags | O_RDWR | O_CREAT | O_EXCL |
					       O_APPEND, 0600) :
		openat(f->dir, NAME, flags | (use == JOURNAL_READ ? O_RDONLY : O_RDWR | O_APPEND));
	if (f->fd < 0 && errno == ENOENT)
		return fail(ENOENT, "%s: no journal in it", dir);
	if (f->fd < 0)
		return fail_errno(errno, "%s/" NAME, dir);
	if (use != JOURNAL_READ && flock(f->fd, LOCK_EX | LOCK_NB))
		return fail(EBUSY, "%s: another irqbind is at work", dir);
	if (use == JOURNAL_CREATE && fsync(f->dir))
		return fail_errno(errno, "%s", dir);
	return read_lines(f->fd, dir, use, arena, content);
}

int journal_open(struct journal_file *f, const char *dir, enum journal_use use, struct arena *arena,
		 struct text *content)
{
	*f = (struct journal_file){ -1, -1 };
	int fd = open_folder(dir, use);

	if (fd < 0)
		return fd;
	f->dir = fd;
	int err = open_file(f, dir, use, arena, content);

	if (err < 0)
		journal_close(f);
	return err;
}

void journal_close(struct journal_file *f)
{
	if (f->fd >= 0)
		close(f->fd);
	if (f->dir >= 0)
		close(f->dir);
	*f = (struct journal_file){ -1, -1 };
}

int journal_append(struct journal_file *f, const struct buf *line)
{
	for (size_t at = 0; at < line->len;) {
		ssize_t n = write(f->fd, line->data + at, line->len - at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return fail_errno(n ? errno : EIO, NAME);
		at += (size_t)n;
	}
	return fdatasync(f->fd) ? fail_errno(errno, NAME) : 0;
}
