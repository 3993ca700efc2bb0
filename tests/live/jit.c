/*
 * What a JIT does: code in memory without a file, and a map that names it. Two functions one behind
 * the other, of which the first calls the second; both keep the frame pointer. x86-64 only.
 *
 * jit SECONDS [nomap|UID]: 77 elsewhere. Writes /tmp/perf-PID.map with its own pid as it sees it,
 * and leaves it to user UID.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#ifdef __x86_64__
/* push rbp; mov rbp, rsp; call +0x1a; pop rbp; ret */
static const unsigned char caller[] = {
	0x55, 0x48, 0x89, 0xe5, 0xe8, 0x17, 0, 0, 0, 0x5d, 0xc3,
};

/* push rbp; mov rbp, rsp; mov ecx, 1 << 20; dec ecx; jnz -4; pop rbp; ret */
static const unsigned char callee[] = {
	0x55, 0x48, 0x89, 0xe5, 0xb9, 0, 0, 0x10, 0, 0xff, 0xc9, 0x75, 0xfc, 0x5d, 0xc3,
};
#endif

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void write_map(const unsigned char *code, const char *owner)
{
	char path[64];

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	FILE *f = fopen(path, "w");

	if (!f)
		exit(1);
	fprintf(f, "%lx 20 stale::name\n", (unsigned long)code);
	fprintf(f, "%lx 20 jit::caller /app.js:1\n", (unsigned long)code);
	fprintf(f, "%lx 20 jit::callee with\na newline\n", (unsigned long)code + 0x20);
	fclose(f);
	if (owner && chown(path, (uid_t)strtoul(owner, NULL, 10), (gid_t)-1))
		exit(1);
}

int main(int argc, char **argv)
{
#ifdef __x86_64__
	const double end = now() + (argc > 1 ? strtod(argv[1], NULL) : 1);
	const char *option = argc > 2 ? argv[2] : NULL;
	unsigned char *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void (*run)(void);

	if (code == MAP_FAILED)
		return 77;
	memcpy(code, caller, sizeof(caller));
	memcpy(code + 0x20, callee, sizeof(callee));
	memcpy(&run, &code, sizeof(run));
	if (!option || strcmp(option, "nomap"))
		write_map(code, option);
	while (now() < end)
		run();
	return 0;
#else
	(void)argc, (void)argv, (void)now, (void)write_map;
	return 77;
#endif
}
