#include "common/stack/json.h"
#include "tests/unit/stacks.h"

static void check_string(const char *raw, const char *expected)
{
	struct buf b = { 0 };

	json_unescape(&b, text_of(raw));
	CHECK_STR(buf_text(&b).data, expected);
	buf_free(&b);
}

static void test_strings(void)
{
	check_string("plain", "plain");
	check_string("a\\\"b\\\\c\\/d\\n\\t", "a\"b\\c/d\n\t");
	check_string("\\u00e9\\u20ac\\ud83d\\ude00", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
	check_string("\\ud83dx\\ude00\\ud83d\\u0041", "\xef\xbf\xbdx\xef\xbf\xbd\xef\xbf\xbd" "A");
	check_string("\\u12", "\xef\xbf\xbd" "12");
	check_string("\\u 12z\\", "\xef\xbf\xbd 12z");
	check_string("", "");
}

static double number(const char *s)
{
	struct json j = json_of(text_of(s));
	double value = -1;

	return json_number(&j, &value) && j.at == j.end ? value : -12345;
}

static void test_values(void)
{
	CHECK(number("0") == 0 && number("-1.5") == -1.5 && number("2e3") == 2000);
	CHECK(number(" 25E-1") == 2.5 && number("1e+2") == 100);
	CHECK(number("123456789012345678901234") > 1.2e23);
	CHECK(number("x") == -12345 && number("") == -12345 && number("1e") == -12345);

	struct json j = json_of(TEXT("{\"a\": [1, {\"b\": \"]}\"}, null], \"c\": -1e5} x"));

	json_skip(&j);
	CHECK(!j.is_broken && json_peek(&j) == 'x');
	static const char *const broken[] = { "", "[", "{\"a\": [}", "]", "\"a", "[\"\\\"]",
		"[[[" };

	for (size_t i = 0; i < sizeof(broken) / sizeof(*broken); i++) {
		j = json_of(text_of(broken[i]));
		json_skip(&j);
		if (i != 2) /* brackets of another kind are not looked at */
			CHECK(j.is_broken);
	}
	struct text key;

	j = json_of(TEXT("{\"a\" 1}"));
	CHECK(json_enter(&j, '{') && json_next(&j, '}') && !json_key(&j, &key) && j.is_broken);
	j = json_of(TEXT("[1, ]"));
	double value;

	CHECK(json_enter(&j, '[') && json_next(&j, ']') && json_number(&j, &value));
	CHECK(!json_next(&j, ']') && j.is_broken);
}

#define HEAD "{\"$schema\": \"https://www.speedscope.app/file-format-schema.json\",\r\n" \
	"\"shared\": {\"frames\": [{\"name\": \"main\", \"file\": \"/src/main.c\", \"line\": 12}," \
	" {\"name\": \"f(int)\", \"col\": 3}, {\"name\": \"\\u00e9;\", \"file\": null}]},\r\n"

static void test_sampled(void)
{
	const struct text t = TEXT(
		HEAD "\"profiles\": [{\"type\": \"sampled\", \"name\": \"cpu\", \"unit\": "
		"\"milliseconds\", \"startValue\": 0, \"endValue\": 9, \"samples\": [[0, 1], [0],"
		" [0, 1], [0, 2], []], \"weights\": [1.5, 2, 0.000001, 3, 4]}]}\njunk");

	check_kind(STACK_SPEEDSCOPE, t, "[no stack] 4000000\nmain 2000000\n"
		   "main;f 1500001\nmain;\xc3\xa9: 3000000\n");
	CHECK(result.samples == 5 && !result.failure);
	CHECK_STR(result.events[0].unit, "ns");
	stack_options.frame.source_lines = true;
	stack_options.weighs_samples = true;
	CHECK_STR(fold_as(STACK_SPEEDSCOPE, t), "[no stack] 1\nmain:main.c:12 1\n"
		  "main:main.c:12;f 2\nmain:main.c:12;\xc3\xa9: 1\n");
	no_options();
}

/* Several profiles have their names for roots; what is shared may come last. */
static void test_evented(void)
{
	const struct text t = TEXT(
		"{\"profiles\": [{\"type\": \"evented\", \"name\": \"thread 1\", \"unit\": "
		"\"none\","
		" \"startValue\": 5, \"events\": [{\"type\": \"O\", \"frame\": 0, \"at\": 10},"
		"{\"type\": \"O\", \"at\": 12, \"frame\": 1}, {\"type\": \"C\", \"frame\": 1, "
		"\"at\": 15},"
		"{\"type\": \"O\", \"frame\": 1, \"at\": 15}, {\"type\": \"C\", \"frame\": 0, "
		"\"at\": 16},"
		"{\"type\": \"C\", \"frame\": 1, \"at\": 99}]}, {\"name\": \"other\", "
		"\"samples\": [[1]],"
		" \"type\": \"sampled\", \"unit\": \"bytes\"}], \"shared\": {\"frames\":"
		"[{\"name\": \"main\"}, {\"name\": \"f\"}]}, \"exporter\": \"speedscope@1\"}");

	CHECK(stack_kind_of(t) == STACK_SPEEDSCOPE);
	CHECK_STR(fold_as(STACK_SPEEDSCOPE, t), "other;f 1\nthread_1;main 2\nthread_1;main;f 4\n");
	CHECK(!result.failure);
}

static void check_broken(struct text t, const char *why, const char *folded)
{
	CHECK_STR(fold_as(STACK_SPEEDSCOPE, t), folded);
	CHECK_STR(result.failure, why);
}

static void test_hostile(void)
{
	const char *form = "line 1: not as speedscope writes it";

	check_broken(TEXT(""), form, "");
	check_broken(TEXT("[]"), form, "");
	check_broken(TEXT("{\"shared\": 1, \"profiles\": 2}"), NULL, "");
	check_broken(TEXT("{\"shared\": {\"frames\": [1]}}"), form, "");
	check_broken(TEXT(HEAD "\"profiles\": [{\"type\": \"sampled\", \"samples\": [[0], [3]]}]}"),
		     "line 3: not as speedscope writes it", "main 1\n");
	check_broken(TEXT(HEAD "\"profiles\": [{\"type\": \"sampled\", \"samples\": [[0], "
		"[-1]]}]}"),
		     "line 3: not as speedscope writes it", "main 1\n");
	check_broken(TEXT(HEAD "\"profiles\": [{\"type\": \"sampled\", \"samples\": [[0], 1]}]}"),
		     "line 3: not as speedscope writes it", "main 1\n");
	check_broken(TEXT(HEAD "\"profiles\": [{\"type\": \"sampled\", \"samples\": [[0], [1]],"
			  " \"weights\": [1]}]}"), "fewer weights than samples", "main 1\n");
	check_broken(TEXT(HEAD "\"profiles\": [{\"type\": \"evented\", \"events\": [{\"type\": "
		"\"X\","
			  " \"frame\": 0, \"at\": 1}]}]}"),
			  "line 3: not as speedscope writes it", "");
	check_broken(TEXT(HEAD "\"profiles\": [{\"type\": \"sampled\"}, {\"type\": \"evented\"}]}"),
		     "line 3: not as speedscope writes it", "");
	check_broken(TEXT(HEAD "\"profiles\": [{\"type\": \"sampled\", \"samples\": [[0]],"
			  " \"weights\": [1e999]}]}"), NULL, "main 18446744073709551615\n");
}

int main(void)
{
	test_strings();
	test_values();
	test_sampled();
	test_evented();
	test_hostile();
	forget_stacks();
	return check_done("speedscope");
}
