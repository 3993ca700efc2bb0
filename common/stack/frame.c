#include "common/stack/frame.h"

#include <string.h>

#include "common/stack/fold.h"

#define NAME_MAX_BYTES 4096            /* longer names are cut: templates of templates */

static struct text base_name(struct text path)
{
	const char *slash = path.len ? memrchr(path.data, '/', path.len) : NULL;

	if (!slash)
		return path;
	return (struct text){ slash + 1, (size_t)(path.data + path.len - slash - 1) };
}

static bool is_unknown(struct text t)
{
	return !t.len || text_is(t, "[unknown]") || text_is(t, "??");
}

/* "[xfs]": a module's name. Brackets stand around other things, too, that perf has no file for. */
static bool is_module(struct text object)
{
	static const char *const others[] = {
		"[vdso]", "[vsyscall]", "[heap]", "[stack]", "[anon]", "[unknown]", "[JIT]",
		"[vvar]", "[vectors]", "[sigpage]", "[uprobes]", "[hypervisor]", "[vvar_vclock]",
	};

	if (object.len < 3 || object.data[object.len - 1] != ']')
		return false;
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (text_is(object, others[i]))
			return false;
	for (size_t i = 1; i < object.len - 1; i++) {
		const char c = object.data[i];

		if ((c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') &&
		    c != '_' && c != '-')
			return false;
	}
	return true;
}

bool frame_object_is_kernel(struct text object)
{
	if (!object.len)
		return false;
	if (object.data[0] == '[')
		return text_starts(object, "[kernel") || text_starts(object, "[guest.kernel") ||
		       is_module(object);
	struct text base = base_name(object);

	return text_starts(base, "vmlinux") || text_ends(base, ".ko") ||
	       text_ends(base, ".ko.xz") || text_ends(base, ".ko.zst") ||
	       text_ends(base, ".ko.gz") ||
	       text_starts(base, "bpf_prog_");
}

bool frame_object_is_jit(struct text object)
{
	struct text base = base_name(object);

	if (text_is(object, "[JIT]") || text_starts(object, "[JIT] "))
		return true;
	return text_starts(base, "perf-") && text_ends(base, ".map");
}

struct text frame_without_offset(struct text t)
{
	size_t n = t.len;

	while (n && ((t.data[n - 1] >= '0' && t.data[n - 1] <= '9') ||
		     (t.data[n - 1] >= 'a' && t.data[n - 1] <= 'f')))
		n--;
	if (n < t.len && n > 3 && !memcmp(t.data + n - 3, "+0x", 3))
		t.len = n - 3;
	return t;
}

/* Where the bracket that closes at `close` opens; t.len if it does not. */
static size_t opening(struct text t, size_t close)
{
	size_t depth = 0;

	for (size_t i = close + 1; i-- > 0;) {
		if (t.data[i] == ')')
			depth++;
		else if (t.data[i] == '(' && --depth == 0)
			return i;
	}
	return t.len;
}

/* What may stand behind an argument list: " const", " [clone .part.0]", "::{lambda()#1}" no. */
static bool is_qualifier(struct text t)
{
	static const char *const words[] = { "", " const", " volatile", " &", " &&", " noexcept" };

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (text_is(t, words[i]))
			return true;
	return text_starts(t, " const ") || text_starts(t, " & ") || text_starts(t, " && ") ||
	       text_starts(t, " [clone ") || text_starts(t, " (.");
}

/* Is "(...)" from open to close the "()" of "operator()"? */
static bool is_call_operator(struct text t, size_t open, size_t close)
{
	static const char word[] = "operator";
	const size_t n = sizeof(word) - 1;

	return close == open + 1 && open >= n && !memcmp(t.data + open - n, word, n) &&
	       (open == n || t.data[open - n - 1] == ':');
}

struct text frame_without_arguments(struct text t)
{
	const char *last = memrchr(t.data, ')', t.len);

	/* V8's name for compiled expressions: the brackets are theirs */
	if (text_starts(t, "RegExp:"))
		return t;
	for (; last; last = memrchr(t.data, ')', (size_t)(last - t.data))) {
		const size_t close = (size_t)(last - t.data);
		const size_t open = opening(t, close);

		if (open == t.len || !is_qualifier((struct text){ last + 1, t.len - close - 1 }))
			return t;
		/* "(.part.0)" and its like stand behind the arguments: look in front of it */
		if (open && open + 1 < t.len && t.data[open + 1] == '.' &&
		    t.data[open - 1] == ' ') {
			t.len = open - 1;
			continue;
		}
		/* operator()() loses the last pair only; "(anonymous namespace)" is no list */
		if (open == 0 || (open >= 2 && !memcmp(t.data + open - 2, "::", 2)) ||
		    is_call_operator(t, open, close))
			return t;
		t.len = open;
		return t;
	}
	return t;
}

struct name {
	char bytes[NAME_MAX_BYTES];
	size_t len;
};

static void add(struct name *n, struct text t)
{
	const size_t room = sizeof(n->bytes) - n->len;
	const size_t len = t.len < room ? t.len : room;

	memcpy(n->bytes + n->len, t.data, len);
	n->len += len;
}

static void add_hex(struct name *n, uint64_t v)
{
	char digits[16];
	size_t at = sizeof(digits);

	do
		digits[--at] = "0123456789abcdef"[v & 15];
	while (v >>= 4);
	add(n, (struct text){ digits + at, sizeof(digits) - at });
}

/* [libc.so.6] [libc.so.6 <1234>] [unknown] [unknown <1234>] */
static void add_unknown(struct name *n, const struct frame_options *o, const struct frame_source *s)
{
	struct text object = base_name(s->object);
	const bool is_bracketed = object.len > 2 && object.data[0] == '[' &&
				  object.data[object.len - 1] == ']';

	if (is_bracketed)
		object = (struct text){ object.data + 1, object.len - 2 };
	if (is_unknown(s->object) || !object.len)
		object = TEXT("unknown");
	add(n, TEXT("["));
	add(n, object);
	if (o->addresses && s->has_address) {
		add(n, TEXT(" <"));
		add_hex(n, s->address);
		add(n, TEXT(">"));
	}
	add(n, TEXT("]"));
}

static void add_suffix(struct name *n, const struct frame_options *o, const struct frame_source *s,
		       bool is_inner)
{
	const bool is_inlined = is_inner || s->is_inlined;

	if (s->line.len && (o->source_lines || (o->inlined_lines && is_inlined))) {
		add(n, TEXT(":"));
		add(n, s->line);
	}
	if (o->inlined && is_inlined)
		add(n, TEXT("_[i]"));
	else if (o->kernel && frame_object_is_kernel(s->object))
		add(n, TEXT("_[k]"));
	else if (o->jit && frame_object_is_jit(s->object))
		add(n, TEXT("_[j]"));
}

/* HotSpot's map writes a class as "Ljava/lang/String;". */
static struct text without_class_letter(struct text t)
{
	if (t.len > 1 && t.data[0] == 'L' && memchr(t.data, '/', t.len) &&
	    memchr(t.data, ';', t.len))
		return (struct text){ t.data + 1, t.len - 1 };
	return t;
}

static uint32_t named(struct fold *f, const struct frame_options *o, const struct frame_source *s,
		      struct text symbol, bool is_inner)
{
	struct name n;

	n.len = 0;
	if (is_unknown(symbol)) {
		add_unknown(&n, o, s);
	} else {
		if (!o->keeps_arguments)
			symbol = frame_without_arguments(symbol);
		if (o->simplifies)
			n.len = frame_simplify(symbol, n.bytes, sizeof(n.bytes));
		else
			add(&n, symbol);
	}
	add_suffix(&n, o, s, is_inner);
	return fold_name(f, (struct text){ n.bytes, n.len });
}

size_t frame_names(struct fold *f, const struct frame_options *o, const struct frame_source *s,
		   uint32_t *names)
{
	struct text left = s->symbol;
	const bool is_jit = frame_object_is_jit(s->object);
	size_t count = 0;

	if (!is_jit) {
		names[0] = named(f, o, s, left, false);
		return 1;
	}
	while (count < FRAME_NAMES_MAX) {
		const char *arrow = memmem(left.data, left.len, "->", 2);
		struct text link = { left.data, arrow ? (size_t)(arrow - left.data) : left.len };

		names[count] = named(f, o, s, without_class_letter(link), count > 0);
		count++;
		if (!arrow)
			break;
		left = (struct text){ arrow + 2, left.len - link.len - 2 };
	}
	return count;
}
