#include "common/stack/frame.h"

#include "common/stack/fold.h"
#include "tests/unit/check.h"

static void check_arguments(const char *symbol, const char *expected)
{
	struct text t = frame_without_arguments(text_of(symbol));
	char name[256];

	snprintf(name, sizeof(name), "%.*s", (int)t.len, t.data);
	CHECK_STR(name, expected);
}

static void check_simple(const char *symbol, const char *expected)
{
	char name[256];
	const size_t len = frame_simplify(text_of(symbol), name, sizeof(name) - 1);

	name[len] = '\0';
	CHECK_STR(name, expected);
}

static void test_simple(void)
{
	char cut[4];

	check_simple("std::vector<int, std::allocator<int> >::push_back",
		     "std::vector<...>::push_back");
	check_simple("f<a>::g<b<c> >", "f<...>::g<...>");
	check_simple("A::operator<", "A::operator<");
	check_simple("operator<< <char>", "operator<< <char>");
	check_simple("operator<=><int>", "operator<=><int>");
	check_simple("A<int>::operator-><int>", "A<...>::operator-><int>");
	check_simple("A<&(B::operator->)>::f", "A<...>::f");
	check_simple("A<(x>y)", "A<...>y)");
	check_simple("open<int", "open<int");
	check_simple("<alloc::vec::Vec<T,A> as core::ops::Drop>::drop",
		     "<alloc::vec::Vec<...> as core::ops::Drop>::drop");
	check_simple("core::iter::collect::<Vec<u8>>", "core::iter::collect::<...>");
	check_simple("LazyCompile:*fib /srv/x.js:1", "fib /srv/x.js:1");
	check_simple("JS:~fib /srv/x.js:1:2", "fib /srv/x.js:1:2");
	check_simple("Function:^f", "f");
	check_simple("LazyCompile:* /srv/x.js:1", "(anonymous) /srv/x.js:1");
	check_simple("JS:", "(anonymous)");
	check_simple("", "");
	check_simple("<", "<");
	check_simple("main", "main");
	CHECK(frame_simplify(TEXT("vector<int>"), cut, 4) == 4 && !memcmp(cut, "vect", 4));
}

#define SAME(symbol) check_arguments(symbol, symbol)

static void test_arguments(void)
{
	check_arguments("f(int)", "f");
	check_arguments("f()", "f");
	check_arguments("ns::f(int, char) const", "ns::f");
	check_arguments("ns::f(int) const &", "ns::f");
	check_arguments("ns::f(int) &&", "ns::f");
	check_arguments("f(void (*)(int), char)", "f");
	check_arguments("f(int) [clone .cold]", "f");
	check_arguments("f(int) const [clone .part.0]", "f");
	check_arguments("f(int) (.part.0)", "f");
	check_arguments("f(int) (.isra.0) (.cold)", "f");
	check_arguments("(anonymous namespace)::f(int)", "(anonymous namespace)::f");
	check_arguments("std::function<void (int)>::operator()(int) const",
			"std::function<void (int)>::operator()");
	check_arguments("A::operator()() const", "A::operator()");
	check_arguments("A::operator()<int>(int)", "A::operator()<int>");
	check_arguments("operator<<(std::ostream&, A const&)", "operator<<");
	check_arguments("operator new(unsigned long)", "operator new");
	check_arguments("main::{lambda(int)#1}::operator()(int) const",
			"main::{lambda(int)#1}::operator()");
	check_arguments("std::_Function_handler<void (vg::Alignment&), f(int)::{lambda(vg::A&)#1}>"
			"::_M_invoke(std::_Any_data const&, vg::A&)",
			"std::_Function_handler<void (vg::Alignment&), f(int)::{lambda(vg::A&)#1}>"
			"::_M_invoke");
	check_arguments("foo<(some_enum)0>::bar(int)", "foo<(some_enum)0>::bar");
	check_arguments("decltype(auto) f<int>(int)", "decltype(auto) f<int>");
	check_arguments("my_operator(int)", "my_operator");
	check_arguments("cooperator()", "cooperator");
	check_arguments("f(int) && [clone .cold]", "f");
	/* no list of arguments */
	SAME("operator()");
	SAME("RegExp:^(a|b)");
	SAME("main");
	SAME("A::operator()");
	SAME("foo<(some_enum)0>::bar");
	SAME("f(int)::{lambda(int)#1}");
	SAME("f::(anonymous namespace)");
	SAME("(below main)");
	SAME("foo<bar(int)>");
	SAME("net/http.(*Client).Do");
	SAME("main.(*T[...]).run.func1");
	SAME("<T as core::fmt::Debug>::fmt");
	SAME("<fn(A) -> B as core::ops::function::FnOnce<(A,)>>::call_once");
	SAME("core::ops::function::FnOnce::call_once{{vtable.shim}}");
	SAME("alloc::vec::Vec<T,A>::push");
	check_arguments("std.stdio.File.writeln!(char[]).writeln(char[])",
			"std.stdio.File.writeln!(char[]).writeln");
	SAME("java/lang/String:::hashCode");
	SAME("LazyCompile:*fib /srv/x.js:1");
	/* brackets that match nothing */
	SAME(")");
	SAME("f)");
	SAME("))))");
	check_arguments("f((((()", "f(((("); /* the last pair is one */
	SAME("");
}

static void check_offset(const char *symbol, const char *expected)
{
	struct text t = frame_without_offset(text_of(symbol));
	char name[64];

	snprintf(name, sizeof(name), "%.*s", (int)t.len, t.data);
	CHECK_STR(name, expected);
}

static void test_offset(void)
{
	check_offset("f+0x1f", "f");
	check_offset("f+0x0", "f");
	check_offset("operator++0x1f", "operator+");
	check_offset("f+0x1f g", "f+0x1f g");
	check_offset("f+0x", "f+0x");
	check_offset("+0x12", "+0x12");
	check_offset("f", "f");
	check_offset("", "");
}

/* The frames, outermost first, with ";" between them. */
static const char *names_of(const struct frame_options *o, const struct frame_source *s)
{
	static char all[1024];
	struct fold *f = fold_new();
	uint32_t names[FRAME_NAMES_MAX];
	const size_t n = frame_names(f, o, s, names);
	size_t len = 0;

	all[0] = '\0';
	for (size_t i = 0; i < n; i++) {
		struct text t = fold_name_text(f, names[i]);

		len += (size_t)snprintf(all + len, sizeof(all) - len, "%s%.*s", i ? ";" : "",
					(int)t.len, t.data);
	}
	fold_free(f);
	return all;
}

#define FRAME(sym, obj) { .symbol = TEXT(sym), .object = TEXT(obj), .line = TEXT("f.c:12"), \
	.address = 0x1234, .has_address = true }

static void test_names(void)
{
	const struct frame_options plain = { .kernel = false };
	const struct frame_options all = { .kernel = true, .jit = true, .inlined = true };
	const struct frame_options addresses = { .addresses = true };
	const struct frame_options lines = { .source_lines = true, .inlined = true };
	const struct frame_options context = { .inlined_lines = true };
	struct frame_source user = FRAME("f(int)", "/bin/x"), unknown = FRAME("[unknown]",
		"/lib/y.so");
	struct frame_source kernel = FRAME("read", "[kernel.kallsyms]");
	struct frame_source nothing = FRAME("", "[unknown]"), module = FRAME("g",
		"/lib/m/ext4.ko.xz");
	struct frame_source jit = FRAME("LMain;::run->Ljava/lang/String;::hash->x",
		"/tmp/perf-12.map");
	struct frame_source vdso = FRAME("??", "[vdso]"), bpf = FRAME("p",
		"bpf_prog_6deef7357e7b4530");

	CHECK_STR(names_of(&plain, &user), "f");
	CHECK_STR(names_of(&(struct frame_options){ .keeps_arguments = true }, &user), "f(int)");
	CHECK_STR(names_of(&plain, &kernel), "read");
	CHECK_STR(names_of(&all, &kernel), "read_[k]");
	CHECK_STR(names_of(&all, &module), "g_[k]");
	CHECK_STR(names_of(&all, &bpf), "p_[k]");
	CHECK_STR(names_of(&all, &user), "f");
	CHECK_STR(names_of(&plain, &unknown), "[y.so]");
	CHECK_STR(names_of(&addresses, &unknown), "[y.so <1234>]");
	CHECK_STR(names_of(&plain, &nothing), "[unknown]");
	CHECK_STR(names_of(&addresses, &nothing), "[unknown <1234>]");
	CHECK_STR(names_of(&plain, &vdso), "[vdso]");
	CHECK_STR(names_of(&plain, &jit), "LMain;::run;java/lang/String;::hash;x");
	CHECK_STR(names_of(&all, &jit), "LMain;::run_[j];java/lang/String;::hash_[i];x_[i]");
	user.is_inlined = true;
	CHECK_STR(names_of(&plain, &user), "f");
	CHECK_STR(names_of(&all, &user), "f_[i]");
	CHECK_STR(names_of(&context, &user), "f:f.c:12");
	CHECK_STR(names_of(&lines, &user), "f:f.c:12_[i]");
	user.is_inlined = false;
	CHECK_STR(names_of(&context, &user), "f");
	CHECK_STR(names_of(&lines, &user), "f:f.c:12");
}

/* A chain of more links than are taken, and a name longer than is kept. */
static void test_hostile(void)
{
	static char links[4 * FRAME_NAMES_MAX], long_name[70000];
	struct fold *f = fold_new();
	uint32_t names[FRAME_NAMES_MAX];
	struct frame_source s = { .symbol = { links, sizeof(links) }, .object = TEXT("perf-1.map"),
				  .line = TEXT("") };

	for (size_t i = 0; i < sizeof(links); i++)
		links[i] = "a->"[i % 3];
	CHECK(frame_names(f, &(struct frame_options){ .jit = true }, &s, names) == FRAME_NAMES_MAX);
	memset(long_name, 'x', sizeof(long_name));
	s = (struct frame_source){ .symbol = { long_name, sizeof(long_name) }, .object = TEXT("[k"),
				   .line = TEXT("") };
	CHECK(frame_names(f, &(struct frame_options){ .kernel = true }, &s, names) == 1);
	CHECK(fold_name_text(f, names[0]).len == 4096);
	fold_free(f);
}

static void test_objects(void)
{
	CHECK(frame_object_is_kernel(TEXT("[kernel.kallsyms]")));
	CHECK(frame_object_is_kernel(TEXT("[guest.kernel.kallsyms]")));
	CHECK(frame_object_is_kernel(TEXT("/usr/lib/debug/boot/vmlinux-5.4.14")));
	CHECK(frame_object_is_kernel(TEXT("[bpf]")));
	CHECK(frame_object_is_kernel(TEXT("[xfs]")) && frame_object_is_kernel(TEXT("[snd-hda_1]")));
	CHECK(!frame_object_is_kernel(TEXT("[heap]")) && !frame_object_is_kernel(TEXT("[anon:x]")));
	CHECK(!frame_object_is_kernel(TEXT("[JIT]")) && !frame_object_is_kernel(TEXT("[]")) &&
	      !frame_object_is_kernel(TEXT("[JIT] tid 12")));
	CHECK(!frame_object_is_kernel(TEXT("[vdso]")) && !frame_object_is_kernel(TEXT("")));
	CHECK(!frame_object_is_kernel(TEXT("/srv/vmlinux/x")));
	CHECK(frame_object_is_jit(TEXT("/tmp/perf-12.map")) &&
		frame_object_is_jit(TEXT("[JIT] tid 1")));
	CHECK(!frame_object_is_jit(TEXT("/tmp/perf-12.so")) && !frame_object_is_jit(TEXT("")));
}

int main(void)
{
	test_arguments();
	test_simple();
	test_offset();
	test_names();
	test_hostile();
	test_objects();
	return check_done("frame");
}
