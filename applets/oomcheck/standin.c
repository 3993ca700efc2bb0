/* Until kills.c and processes.c are there. */
#include "applets/oomcheck/oomcheck.h"
struct nothing_row { const char *none; };
static const struct column nothing_columns[] = {
	COL(struct nothing_row, none, NULL, ROLE_TEXT, UNIT_TEXT, "not there yet") };
#define NOTHING(v, n) __attribute__((weak)) const struct table v = { .name = n, .help = "not there yet", TABLE(struct nothing_row, nothing_columns) }
NOTHING(kills_table, "kills");
NOTHING(victims_table, "victims");
NOTHING(processes_table, "processes");
__attribute__((weak)) int kills_look(struct out *out) { (void)out; return 0; }
__attribute__((weak)) void kills_stop(void) {}
__attribute__((weak)) uint64_t kills_logged(const char *path) { (void)path; return 0; }
__attribute__((weak)) int processes_look(struct out *out) { (void)out; return 0; }
__attribute__((weak)) void processes_stop(void) {}
