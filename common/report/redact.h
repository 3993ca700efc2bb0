/*
 * --redact: names replaced by stable pseudonyms ("command-3fa20c81"), the same one wherever the
 * name appears. Keyed with the boot id, so the same name reads the same in two runs of one boot,
 * and cannot be guessed back by trying names without it.
 */
#ifndef REPORT_REDACT_H
#define REPORT_REDACT_H

#include <stdbool.h>

#include "common/base/mem.h"
#include "common/report/table.h"

void redact_on(const char *boot_id);    /* NULL: off again */
bool redact_is_on(void);

/*
 * What may be printed for name: itself (same pointer) when redaction is off or name is NULL, else
 * the pseudonym in arena. NAME_CGROUP keeps "/", well-known components (kubepods and its classes of
 * service, system.slice, user.slice, docker, init.scope, machine.slice, "..") and the kind of unit
 * (.scope), and replaces the others one by one; of kubepods-burstable-podUID.slice the UID.
 * NAME_ADDRESS keeps a port behind it and the wildcards 0.0.0.0, :: and *. NAME_PLAIN is never
 * replaced.
 */
const char *redact_name(struct arena *arena, enum name_kind kind, const char *name);

/* A remark, often an error with a path in it: names of network namespaces there are replaced. */
const char *redact_remark(struct arena *arena, const char *remark);

#endif
