/* Memory errors the hardware reports: EDAC, Documentation/ABI/testing/sysfs-devices-edac. */
#ifndef KERNEL_EDAC_H
#define KERNEL_EDAC_H

#include <stdint.h>

#include "common/base/na.h"

/* Since the driver was loaded, summed over memory controllers. */
struct edac {
	unsigned controllers;          /* 0: no driver, or memory without error correction */
	uint64_t corrected, uncorrected;
};
void edac_read(struct edac *e);

#endif
