/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * How long the driver itself was busy, as its tracepoints tell.
 */
#ifndef MRBENCH_TRACED_H
#define MRBENCH_TRACED_H

#include "mrbench.h"

/* From here on. */
void traced_open(void);
void traced_close(void);

/* Of the registrations and deregistrations since the last call; 0 if there are none. */
uint64_t traced_ns(void);

#endif
