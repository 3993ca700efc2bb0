/* What is mapped in one address space, in order of address. Shared by a fork until it changes. */
#ifndef STACK_PROCESS_MAPS_H
#define STACK_PROCESS_MAPS_H

#include "common/stack/process.h"

enum map_change {
	MAP_KNOWN,                     /* nothing changes */
	MAP_ADDS,                      /* where nothing was, or more of the same */
	MAP_REPLACES,                  /* addresses get a new meaning */
	MAP_TOO_MANY,
};

/* What adding m would do. */
enum map_change process_maps_judge(const struct process_maps *maps, const struct process_map *m);
/* Adds it; what it overlaps is cut or split. *maps may be NULL. Not for MAP_TOO_MANY. */
void process_maps_add(struct process_maps **maps, const struct process_map *m);
const struct process_map *process_maps_find(const struct process_maps *maps, uint64_t address);
struct process_maps *process_maps_share(struct process_maps *maps);    /* NULL for NULL */
void process_maps_release(struct process_maps *maps);

#endif
