/*
 * A file that takes the place of standard output (-o): written beside, and renamed when it is
 * whole, so that who reads it never sees half. What is not a regular file (a pipe, /dev/null) is
 * written where it stands. A link stays: the file it leads to is replaced.
 */
#ifndef REPORT_OUTFILE_H
#define REPORT_OUTFILE_H

#include <stdbool.h>
#include <stdio.h>

struct outfile;

/* 0 or -errno with fail text. outfile_close ends it. */
int outfile_open(const char *path, struct outfile **opened);
FILE *outfile_stream(struct outfile *f);       /* stays the outfile's */
/* keep: it is whole, renames it; else it is as if nothing had been written. -errno with fail text:
 * not whole after all. NULL: nothing. */
int outfile_close(struct outfile *f, bool keep);

#endif
