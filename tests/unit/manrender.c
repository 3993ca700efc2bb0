/* man(7) source as text: each macro and escape our pages use, cut short, and hostile. */
#include "common/report/roff.h"

#include <stdlib.h>

#include "tests/unit/check.h"

static struct buf page;

static const char *render(const char *source, unsigned width, bool bold)
{
	buf_reset(&page);
	roff_render(text_of(source), width, bold, &page);
	return buf_text(&page).data;
}

static const char *plain(const char *source)
{
	return render(source, 60, false);
}

static const char *marked(const char *source)
{
	return render(source, 60, true);
}

static void check_page(void)
{
	const char *text = render(".\\\" a comment\n"
				  ".TH LISTENQ 8 2026-01-02 \"perfbox 1\" \"A manual\"\n"
				  ".SH NAME\n"
				  "listenq \\- who drops\n"
				  ".SH \"SEE ALSO\"\n"
				  ".SH\n"
				  "next line\n"
				  ".SS sub section\n"
				  "text\n", 40, false);

	CHECK_STR(text, "LISTENQ(8)      A manual      LISTENQ(8)\n"
			"\n"
			"NAME\n"
			"       listenq - who drops\n"
			"\n"
			"SEE ALSO\n"
			"next line\n"
			"   sub section\n"
			"       text\n"
			"\n"
			"perfbox 1     2026-01-02      LISTENQ(8)\n");
}

static void check_paragraphs(void)
{
	CHECK_STR(plain("one\ntwo\n.PP\nthree\n.P\n.LP\nfour\n"
			"\nfive\n.br\nsix\n.sp 3\nseven"),
		  "       one two\n\n       three\n\n       four\n\n"
		  "       five\n       six\n\n       seven\n");
	CHECK_STR(render("the line is longer than thirty columns are\n", 30, false),
		  "       the line is longer than\n       thirty columns are\n");
	CHECK_STR(plain("a\n 2 spaces  in\n"), "       a\n        2 spaces in\n");
	CHECK_STR(plain(".nf\nkept   as\n  it  is\n\nso\n.fi\nand\nfilled\n"),
		  "       kept   as\n         it  is\n\n       so\n       and filled\n");
	CHECK_STR(plain(".EX\n$ a\n$ b\n.EE\n"), "       $ a\n       $ b\n");
	CHECK_STR(plain("a\\c\nb\n"), "       ab\n");
}

static void check_tags(void)
{
	CHECK_STR(plain(".TP\n.B \\-v\nbody\n.TP\n.BR \\-j \", \" \\-\\-json\nbody\n"),
		  "       -v     body\n\n       -j, --json\n              body\n");
	CHECK_STR(plain(".TP 4\na\nb\n.TQ\nc\nd\n"), "       a   b\n       c   d\n");
	CHECK_STR(plain(".TP\na\n.TQ\nb\nc\n"), "       a\n       b      c\n");
	CHECK_STR(plain(".IP \\(bu 2\none\n.IP \\(bu\ntwo\n.IP\nunder\n"),
		  "       * one\n\n       * two\n\n         under\n");
	CHECK_STR(plain(".PD 0\n.TP\na\nb\n.TP\nc\nd\n"), "       a      b\n       c      d\n");
	CHECK_STR(plain("a\n.RS\nb\n.RS 4\nc\n.RE\nd\n.RE\ne\n.RE\n"),
		  "       a\n              b\n                  c\n              d\n       e\n");
	CHECK_STR(plain(".TP\nseven77\nb\n"), "       seven77\n              b\n");
	CHECK_STR(plain(".TP\nsix666\nb\n"), "       six666 b\n");
	CHECK_STR(plain(".TP\n"), "");
}

static void check_fonts(void)
{
	CHECK_STR(marked(".B bold words\n.I it\n.BR a b c\n.RI d e\nplain\n"),
		  "       \033[0;1mbold words\033[0m \033[0;4mit\033[0m "
		  "\033[0;1ma\033[0mb\033[0;1mc\033[0m d\033[0;4me\033[0m plain\n");
	CHECK_STR(marked("\\fBa\\fIb\\fPc\\fRd\\f[B]e\\f(CWf\n"),
		  "       \033[0;1ma\033[0;4mb\033[0;1mc\033[0md"
		  "\033[0;1me\033[0mf\n");
	CHECK_STR(marked(".B\nnext\nplain\n"), "       \033[0;1mnext\033[0m plain\n");
	CHECK_STR(marked(".SH X\ny\n"), "\033[0;1mX\033[0m\n       y\n");
	/* what is bold at the end of a line is bold again in the next, and closed in both */
	CHECK_STR(render(".B a line that is long enough\n", 30, true),
		  "       \033[0;1ma line that is long\033[0m\n       \033[0;1menough\033[0m\n");
	CHECK_STR(plain(".BI \\-p \" PID\"\n.IB a b\n.IR a b\n.RB a b\n"),
		  "       -p PID ab ab ab\n");
}

static void check_escapes(void)
{
	CHECK_STR(plain("\\-\\-x \\&.y \\e \\(bu \\(em \\(lqq\\(rq \\(aq \\(co \\(co\n"),
		  "       --x .y \\ * -- \"q\" ' (C) (C)\n");
	CHECK_STR(plain("\\[bu] \\[nosuch] \\*(Tm a\\ b\\~c\\0d\n"), "       * ? (TM) a b c d\n");
	CHECK_STR(plain("\\s-1S\\s0 \\h'2n'x \\n(yy z\\%y\n"), "       S x zy\n");
	CHECK_STR(plain("a \\\" not this\n.\\\" nor this\n'\\\" nor this\nb\\\\\"c\n"),
		  "       a b\\\"c\n");
	CHECK_STR(plain(".B \"two words\" a\"b \"say \"\"hi\"\"\" a\\ b\n"),
		  "       two words a\"b say \"hi\" a b\n");
	CHECK_STR(plain(".nosuch macro\n.de XX\nhidden\n..\n.ig\nhidden\n..\nshown\n.\n"),
		  "       shown\n");
}

/* Whatever is in the source, no control byte and no broken UTF-8 gets to a terminal. */
static void check_hostile(void)
{
	CHECK_STR(plain("a\033[31mb\x7f\x01\x02\x03\x04" "c\r\n"), "       a[31mbc\n");
	CHECK_STR(plain("\xc3\xa4\xff\xc3 \xed\xa0\x80 \xc2\x9b" "x \xf0\x9f\x98\x80\xe2\x82"),
		  "       \xc3\xa4?? ??? ??x \xf0\x9f\x98\x80??\n");
	CHECK_STR(plain("\\"), "");
	CHECK_STR(plain("\\f"), "");
	CHECK_STR(plain("\\("), "       ?\n");
	CHECK_STR(plain("\\["), "       ?\n");
	CHECK_STR(plain("\\h'"), "");
	CHECK_STR(plain(".B \""), "");
	CHECK_STR(plain(".TP 99999999999999999999999\na\nb\n.RE\n.RE\n"), "       a      b\n");
	CHECK_STR(render("", 0, false), "");

	for (unsigned i = 0; i < 100; i++)
		buf_add_text(&page, ".RS 999\n");
	buf_add_text(&page, "deep\n");

	struct buf source = page;

	page = (struct buf){ 0 };
	CHECK(strlen(plain(source.data)) < 60);
	buf_free(&source);
}

int main(void)
{
	check_page();
	check_paragraphs();
	check_tags();
	check_fonts();
	check_escapes();
	check_hostile();
	buf_free(&page);
	return check_done("manrender");
}
