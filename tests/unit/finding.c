/* Findings: building, copying, ranking, hostile names inside. */
#include "common/report/finding.h"

#include <stdlib.h>

#include "tests/unit/check.h"

static const struct finding_kind kinds[] = {
	{ "cpuwait.throttled", "now", "when a group loses time" },
	{ "cpuwait.steal", "now", "when the host takes it" },
	{ NULL, NULL, NULL },
};

static void check_building(void)
{
	struct arena a = { 0 };
	char subject[] = "/a";
	struct finding *f = finding_start(&a, kinds, "cpuwait.steal", STATE_NOW, subject);

	subject[1] = 'b';
	CHECK(f->kind == &kinds[1] && f->state == STATE_NOW && f->arena == &a);
	CHECK_STR(f->subject, "/a");
	CHECK(!f->text && !f->proof && !f->next && !f->netns && !f->names);
	for (uint64_t i = 0; i < 20; i++)
		finding_u64(f, "n", i);
	finding_f64(f, "r_ratio", 0.5);
	finding_text(f, "comm", NAME_COMMAND, "java");
	finding_text(f, "none", NAME_PLAIN, NULL);
	CHECK(f->evidence_count == 23 && f->evidence[19].u64 == 19 && f->evidence[20].f64 == 0.5);
	CHECK(f->evidence[21].names == NAME_COMMAND && !f->evidence[22].text);
	finding_line(f, "first %d", 1);
	finding_line(f, "worst  %s", "a\nb");
	CHECK_STR(f->text, "first 1\nworst  a\\x0ab");
	finding_proof(f, "one");
	finding_proof(f, "two\n");
	CHECK_STR(f->proof, "one; two\\x0a");
	finding_next(f, "perfbox %s", "x");
	finding_next(f, "perfbox %s", "y");
	CHECK_STR(f->next, "perfbox y");
	arena_free(&a);
}

static void check_copy(void)
{
	struct arena a = { 0 }, b = { 0 };
	struct finding *f = finding_start(&a, kinds, "cpuwait.throttled", STATE_RISK, "s");
	char name[] = "drops";

	f->netns = arena_strdup(&a, "host");
	f->names = arena_strdup(&a, "pod");
	f->lost = 3;
	finding_u64(f, name, 7);
	finding_text(f, "comm", NAME_COMMAND, "java");
	finding_line(f, "l");
	finding_proof(f, "p");
	struct finding *copy = finding_copy(&b, f);

	finding_next(f, "only in the first");
	memset(name, 'x', sizeof(name) - 1);
	arena_free(&a);
	CHECK(copy->kind == &kinds[0] && copy->state == STATE_RISK && copy->lost == 3 &&
	      copy->arena == &b);
	CHECK_STR(copy->subject, "s");
	CHECK_STR(copy->netns, "host");
	CHECK_STR(copy->names, "pod");
	CHECK_STR(copy->text, "l");
	CHECK_STR(copy->proof, "p");
	CHECK(!copy->next);
	CHECK(copy->evidence_count == 2 && copy->evidence[0].u64 == 7);
	CHECK_STR(copy->evidence[0].name, "drops");
	CHECK_STR(copy->evidence[1].text, "java");
	finding_u64(copy, "more", 1);
	finding_line(copy, "m");
	CHECK(copy->evidence_count == 3 && copy->evidence[0].u64 == 7);
	CHECK_STR(copy->text, "l\nm");
	struct finding *empty = finding_copy(&b, finding_start(&b, kinds, "cpuwait.steal",
							       STATE_NOW, NULL));

	CHECK(!empty->subject && empty->evidence_count == 0);
	arena_free(&b);
}

static struct finding *ranked(struct arena *a, const char *id, enum finding_state state,
			      double lost,
			      const char *subject)
{
	struct finding *f = finding_start(a, kinds, id, state, subject);

	f->lost = lost;
	return f;
}

static void check_ranking(void)
{
	struct arena a = { 0 };
	struct finding *expected[] = {
		ranked(&a, "cpuwait.throttled", STATE_NOW, 5, "z"),
		ranked(&a, "cpuwait.steal", STATE_NOW, 1, NULL),
		ranked(&a, "cpuwait.steal", STATE_NOW, 1, "b"),
		ranked(&a, "cpuwait.throttled", STATE_NOW, 1, "a"),
		ranked(&a, "cpuwait.throttled", STATE_NOW, NA_F64, "a"),
		ranked(&a, "cpuwait.throttled", STATE_NOW, 0, "c"),
		ranked(&a, "cpuwait.throttled", STATE_PAST, 0, "a"),
		ranked(&a, "cpuwait.throttled", STATE_RISK, 100, "a"),
		ranked(&a, "cpuwait.throttled", STATE_NOTE, 1000, "a"),
	};
	enum { COUNT = sizeof(expected) / sizeof(expected[0]) };
	struct finding *list[COUNT];

	for (size_t turn = 0; turn < COUNT; turn++) {
		for (size_t i = 0; i < COUNT; i++)
			list[i] = expected[(i * 4 + turn) % COUNT];
		qsort(list, COUNT, sizeof(list[0]), finding_compare);
		for (size_t i = 0; i < COUNT; i++)
			CHECK(list[i] == expected[i]);
	}
	arena_free(&a);
}

int main(void)
{
	CHECK_STR(finding_state_name(STATE_NOW), "now");
	CHECK_STR(finding_state_name(STATE_PAST), "past");
	CHECK_STR(finding_state_name(STATE_RISK), "risk");
	CHECK_STR(finding_state_name(STATE_NOTE), "note");
	check_building();
	check_copy();
	check_ranking();
	return check_done("finding");
}
