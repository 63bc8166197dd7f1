/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The time spent in the driver, from its tracepoints.
 */
#ifndef MRBENCH_TRACED_H
#define MRBENCH_TRACED_H

#include "mrbench.h"

/* Start tracing. */
void traced_open(void);
void traced_close(void);

/* The time of all registrations and deregistrations since the last call; 0 if none. */
uint64_t traced_ns(void);

#endif
