/*
 * What stands at an address of a recording: the function's name and the object it lies in. Names
 * come from the object itself (or its debug file) if it is the one that was recorded, from the
 * kernel's own list if the recording is of the kernel that runs, and from the maps that JITs write;
 * never from another build's file.
 *
 * Nothing here blocks on, or changes, what a recording names: only regular files are opened.
 */
#ifndef STACK_SYMBOLS_H
#define STACK_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/text.h"

struct symbols;
struct object;

/* All may be NULL or false; the strings are not copied and live as long as the symbols. */
struct symbols_options {
	const char *symfs;             /* a folder that holds the recorded host's files */
	const char *kallsyms;          /* a copy of the recorded host's /proc/kallsyms */
	const char *vmlinux;           /* the recorded kernel with its symbols */
	const char *buildids;          /* a list of files: "PATH", or "BUILD-ID PATH", one a line */
	bool is_this_boot;             /* recorded here since the host was started: /proc/PID and
					  /tmp/perf-PID.map tell about the recorded processes. If
					  false, symbols_set_kernel finds out */
	bool asks_kernel;              /* what is recorded runs now: the kernel may be asked for
					  single addresses (ksymname.h), not for all it has */
	bool inlines;                  /* symbols_find_inlined is going to be asked */
};

struct symbols *symbols_new(const struct symbols_options *o);
void symbols_free(struct symbols *s);

/*
 * What a recording says of its kernel, before the first address is asked for. NULL and 0 where it
 * says nothing: then no kernel name is known unless options name a file.
 */
struct symbols_kernel {
	const char *build_id;          /* hex */
	const char *osrelease;
	/* the first kernel map, "[kernel.kallsyms]_text": tells how far the kernel was moved */
	const char *reference;         /* "_text" or "_stext" */
	uint64_t reference_address;    /* its pgoff; 0: hidden from the recorder */
	const char *kallsyms;          /* a copy that came with the recording, if it is there */
	const char *hostname;
	int64_t recorded_at;           /* its end, seconds since the epoch: the file's mtime */
};
void symbols_set_kernel(struct symbols *s, const struct symbols_kernel *k);
/* A KSYMBOL record: a BPF program, an ftrace trampoline. A later one replaces earlier ones. */
void symbols_add_ksymbol(struct symbols *s, uint64_t address, uint64_t size, struct text name);

/* A map of a recorded process, or of the kernel (a module). */
struct symbols_map {
	const char *path;              /* "", "//anon", "[vdso]", "/usr/bin/x (deleted)", ... */
	const char *build_id;          /* hex; NULL: the recording has none */
	uint64_t start, end, pgoff;
	uint64_t inode;                /* 0: unknown */
	uint32_t pid;                  /* for its perf map, and its files while it lives */
	const char *comm;              /* for remarks; may be NULL */
	bool is_kernel;
	struct object **slot;          /* NULL, or a place kept with the map, NULL at first: which
					  object it is need not be found again */
};

struct symbol {
	struct text name;              /* demangled; empty: unknown */
	struct text object;            /* a path, [kernel.kallsyms], [module], [bpf], [vdso], [JIT];
					  empty: unknown */
	uint64_t offset;               /* into the function; without a name into the object */
	struct text line;              /* "file.c:12"; only from symbols_find_inlined */
};

/*
 * What stands at an address of a map. A return address is looked up one byte before, where its call
 * stands. Texts are valid until symbols_free. False: no name, but found->object and offset are set
 * as far as they are known.
 */
bool symbols_find(struct symbols *s, const struct symbols_map *map, uint64_t address,
		  bool is_return_address, struct symbol *found);
/* The same for an address of the kernel. map: the module it lies in as recorded, or NULL. */
bool symbols_find_kernel(struct symbols *s, const struct symbols_map *map, uint64_t address,
			 bool is_return_address, struct symbol *found);

/*
 * All functions that stand at an address, as debug information has them: inlined ones first, the
 * real one (as symbols_find has it) last; with their lines where known. At least 1, at most max;
 * found[0].line is the address's own line.
 */
#define SYMBOLS_INLINED_MAX 64
size_t symbols_find_inlined(struct symbols *s, const struct symbols_map *map, uint64_t address,
			    bool is_return_address, struct symbol *found, size_t max);

/*
 * "[libfoo.so+0x1234]", "[kernel+0x...]", "[unknown]": how a frame without a name is shown. Returns
 * its length; cut to fit, NUL-terminated.
 */
size_t symbols_unnamed(const struct symbol *found, char *out, size_t size);

/* Open a map's file now: the process, or the file, may be gone when its names are asked for. */
void symbols_prepare(struct symbols *s, const struct symbols_map *map);
/* Forget what JITs wrote: maps are read again, and names that came from them end here. */
void symbols_forget_jit(struct symbols *s);

/*
 * What a reader of the names has to know, each said once: another kernel's list was refused, files
 * that do not match, JITs without a map. Lines without newline; valid until the next call here.
 */
size_t symbols_remarks(struct symbols *s, const char *const **lines);

#endif
