/* An ELF file as elfutils reads it. */
#ifndef STACK_ELFSYM_FILE_H
#define STACK_ELFSYM_FILE_H

#include <stddef.h>

struct elfsym_file;

/*
 * An image in memory that elfutils may write to: when it unpacks a section it changes its header,
 * so an image can be given here once, and nobody else should read it. Used until elfsym_file_free.
 * NULL: it is no ELF file.
 */
struct elfsym_file *elfsym_file_new(char *image, size_t len);
void elfsym_file_free(struct elfsym_file *f);

#endif
