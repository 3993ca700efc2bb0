/*
 * stackgen perf|folded|random COUNT [SEED]: stacks as text on stdout, always the same. perf:
 * perf script's lines of a deep C++ program, COUNT samples out of up to 47,000 different stacks.
 * folded: COUNT different stacks of about 380 bytes, neighbours with the same first frames.
 * random: the same of 300,000 names, without anything that neighbours share.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMES 3000
#define CHAINS 47000
#define DEEPEST 22

static uint64_t state = 88172645463325252u;

static unsigned below(unsigned n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (unsigned)(state >> 33) % n;
}

static const char *const patterns[] = {
	"std::__1::basic_string<char, std::__1::char_traits<char> >::append%u",
	"app::detail::Visitor<app::Node<int, 4>, app::Policy>::visit%u",
	"std::_Function_handler<void (app::Node<int, 4>&), "
	"app::run(app::Tree&)::{lambda(app::Node<int, 4>&)#1}>::_M_invoke%u",
	"app::walk%u",
	"main%u",
	"app::Parser::parse_expression%u",
	"boost::asio::detail::scheduler::do_run_one%u",
};

static void make_perf(unsigned count)
{
	static char lines[NAMES][320];
	static unsigned short chains[CHAINS][DEEPEST];
	static unsigned char depth[CHAINS];

	for (unsigned i = 0; i < NAMES; i++) {
		const unsigned long address = (unsigned long)below(1u << 30) << 10;
		char name[200];

		snprintf(name, sizeof(name), patterns[i % 7], i);
		snprintf(lines[i], sizeof(lines[i]),
			 "\t%16lx %s(app::Node<int, 4>&, unsigned long)+0x%x "
			 "(/usr/local/bin/deep)\n", address, name, i & 0xfff);
	}
	for (unsigned i = 0; i < CHAINS; i++) {
		depth[i] = (unsigned char)(8 + below(DEEPEST - 7));
		for (unsigned k = 0; k < depth[i]; k++)
			chains[i][k] = (unsigned short)below(NAMES);
	}
	for (unsigned i = 0; i < count; i++) {
		const unsigned c = below(CHAINS);

		printf("deep 1234 [001] %u.%06u:     100010 cpu-clock: \n", 100 + i / 10000,
		       i % 10000 * 100);
		for (unsigned k = 0; k < depth[c]; k++)
			fputs(lines[chains[c][k]], stdout);
		putchar('\n');
	}
}

static void print_frame(unsigned which)
{
	printf("ns%u::function_name_%u", which % 97, which);
}

static void make_folded(unsigned count)
{
	unsigned first[16] = { 0 }, depth = 6;

	for (unsigned i = 0; i < count; i++) {
		if (i % 7 == 0) {
			depth = 8 + below(8);
			for (unsigned k = 0; k < depth; k++)
				first[k] = below(4000);
		}
		const unsigned shared = 5 + below(depth - 4), own = 5 + below(7);

		for (unsigned k = 0; k < shared; k++) {
			print_frame(first[k]);
			putchar(';');
		}
		for (unsigned k = 0; k < own; k++) {
			print_frame(below(4000));
			putchar(k + 1 < own ? ';' : ' ');
		}
		printf("%u\n", 1 + below(100));
	}
}

static void make_random(unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		const unsigned depth = 10 + below(9);

		for (unsigned k = 0; k < depth; k++) {
			print_frame(below(300000));
			putchar(k + 1 < depth ? ';' : ' ');
		}
		printf("%u\n", 1 + below(100));
	}
}

int main(int argc, char **argv)
{
	const unsigned count = argc >= 3 ? (unsigned)strtoul(argv[2], NULL, 10) : 0;

	if (!count)
		return 2;
	if (argc > 3)
		state += strtoul(argv[3], NULL, 10) << 20;
	if (!strcmp(argv[1], "random"))
		make_random(count);
	else if (!strcmp(argv[1], "perf"))
		make_perf(count);
	else
		make_folded(count);
	return fflush(stdout) != 0;
}
