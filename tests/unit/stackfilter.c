#include "common/stack/stackfilter.h"

#include <errno.h>

#include "common/base/na.h"
#include "tests/unit/check.h"

static struct fold *f;
static struct stack_filter *filter;
static bool is_cut;

static void begin(const struct stack_filter_options *o)
{
	f = fold_new();
	CHECK(stack_filter_new(o, f, &filter) == 0);
}

static void end(void)
{
	stack_filter_free(filter);
	fold_free(f);
}

/* Leaf first, as a profiler has them. */
static uint32_t place(const char *root, const char *a, const char *b, const char *c)
{
	uint32_t names[3] = { fold_name(f, text_of(a)), fold_name(f, text_of(b)),
			      fold_name(f, text_of(c)) };

	return stack_filter_place(filter, root ? fold_name(f, text_of(root)) : 0, names, 3, true,
				  &is_cut);
}

static const char *path(uint32_t node)
{
	static char all[256];

	if (node >= STACK_DROPPED)
		return node == STACK_DROPPED ? "dropped" : "full";
	all[0] = '\0';
	for (; node; node = fold_parent(f, node)) {
		char longer[sizeof(all)];
		struct text t = fold_text(f, node);

		snprintf(longer, sizeof(longer), "%.*s%s%.100s", (int)t.len, t.data,
			 all[0] ? ";" : "", all);
		memcpy(all, longer, sizeof(all));
	}
	return all;
}

static void test_frames(void)
{
	begin(&(struct stack_filter_options){ .by = ROOT_COMM });
	CHECK(!stack_filter_asks_frames(filter));
	CHECK_STR(path(place("r", "c", "b", "a")), "r;a;b;c");
	CHECK_STR(path(place(NULL, "c", "b", "a")), "a;b;c");
	CHECK_STR(path(stack_filter_place(filter, 0, NULL, 0, true, &is_cut)), "[no stack]");
	end();
	begin(&(struct stack_filter_options){ .include = "^b|^r", .exclude = "x$" });
	CHECK_STR(path(place("a", "c", "b_[k]", "a")), "a;a;b_[k];c");
	CHECK_STR(path(place("r", "c", "c", "a")), "r;a;c;c");
	CHECK_STR(path(place("a", "c", "ab", "a")), "dropped");
	CHECK_STR(path(place("r", "ax", "b", "a")), "dropped");
	CHECK(!is_cut);
	end();
	begin(&(struct stack_filter_options){ .max_depth = 2 });
	CHECK_STR(path(place("r", "c", "b", "a")), "r;a;b");
	CHECK(is_cut);
	CHECK_STR(path(place(NULL, "c", "b", "a")), "a;b");
	end();
	begin(&(struct stack_filter_options){ .reverse = true });
	CHECK_STR(path(place("r", "c", "b", "a")), "c;b;a;r");
	CHECK(!is_cut);
	end();
	/* the root of the tree is the leaf then */
	begin(&(struct stack_filter_options){ .reverse = true, .max_depth = 1 });
	CHECK_STR(path(place("r", "c", "b", "a")), "c");
	CHECK(is_cut);
	end();
	begin(&(struct stack_filter_options){ .skip_after = { "b", "a" }, .skip_after_count = 2 });
	CHECK_STR(path(place("r", "c", "b", "a")), "r;b;c");
	CHECK_STR(path(place("r", "c", "b_[k]", "a")), "r;b_[k];c");
	CHECK_STR(path(place("r", "b", "x", "b")), "r;b");
	CHECK_STR(path(place("r", "c", "bb", "y")), "r;y;bb;c");
	end();
}

static void test_root(void)
{
	const struct stack_task t = { TEXT("a b"), TEXT("1"), TEXT("2"), TEXT("003"), TEXT("/x") };
	const struct stack_task none = { TEXT(""), TEXT(""), TEXT(""), TEXT(""), TEXT("") };
	static const char *const known[] = { "a_b", "a_b-1", "a_b-1/2", "cpu_003", "/x", "" };
	static const char *const unknown[] = { "", "?-?", "?-?/?", "cpu_?", "?", "" };

	for (unsigned by = ROOT_COMM; by <= ROOT_NONE; by++) {
		begin(&(struct stack_filter_options){ .by = (enum root_frame)by });
		uint32_t root = stack_filter_root(filter, &t);

		CHECK(root ? text_is(fold_name_text(f, root), known[by]) : by == ROOT_NONE);
		root = stack_filter_root(filter, &none);
		CHECK(root ? text_is(fold_name_text(f, root), unknown[by]) : !*unknown[by]);
		end();
	}
}

static void test_samples(void)
{
	begin(&(struct stack_filter_options){ .has_from = true, .from = 1, .has_to = true, .to = 2,
					      .cpus = "1,3-4" });
	CHECK(stack_filter_wants(filter, 1, 1) && stack_filter_wants(filter, 2, 4));
	CHECK(!stack_filter_wants(filter, 0.5, 1) && !stack_filter_wants(filter, 2.5, 1));
	CHECK(!stack_filter_wants(filter, 1.5, 2) && !stack_filter_wants(filter, 1.5, 1u << 20));
	CHECK(stack_filter_counts(filter)->excluded == 4);
	CHECK(!stack_filter_wants(filter, NA_F64, 1) && !stack_filter_wants(filter, 1, NA_U64));
	CHECK(stack_filter_counts(filter)->without_time == 1);
	CHECK(stack_filter_counts(filter)->without_cpu == 1);
	CHECK(!stack_filter_count(filter, FOLD_FULL, false));
	CHECK(!stack_filter_count(filter, STACK_DROPPED, false));
	CHECK(stack_filter_count(filter, 1, true));
	CHECK(stack_filter_counts(filter)->lost == 1 && stack_filter_counts(filter)->cut == 1);
	CHECK(stack_filter_counts(filter)->excluded == 5);
	end();
}

static void test_hostile(void)
{
	struct stack_filter *made = NULL;

	f = fold_new();
	CHECK(stack_filter_new(&(struct stack_filter_options){ .include = "(" }, f,
		&made) == -EINVAL);
	CHECK(strstr(fail_text(), "--include (: "));
	CHECK(stack_filter_new(&(struct stack_filter_options){ .exclude = "[" }, f,
		&made) == -EINVAL);
	CHECK(stack_filter_new(&(struct stack_filter_options){ .cpus = "x" }, f, &made) == -EINVAL);
	CHECK(stack_filter_new(&(struct stack_filter_options){ .cpus = "" }, f, &made) == -EINVAL);
	CHECK(stack_filter_new(&(struct stack_filter_options){ .cpus = "0-99999999" }, f, &made) ==
	      -EINVAL);
	CHECK(!made);
	fold_free(f);
	stack_filter_free(NULL);
	/* a limit was reached on the way */
	begin(&(struct stack_filter_options){ .skip_after = { "b" }, .skip_after_count = 1 });
	const uint32_t full[2] = { FOLD_FULL, FOLD_FULL };

	CHECK(stack_filter_place(filter, 0, full, 2, true, &is_cut) == FOLD_FULL);
	CHECK(stack_filter_place(filter, FOLD_FULL, full, 0, true, &is_cut) == FOLD_FULL);
	CHECK_STR(path(place("r", "b\0c", "", "a")), "r;b");
	end();
}

int main(void)
{
	test_frames();
	test_root();
	test_samples();
	test_hostile();
	return check_done("stackfilter");
}
