/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the driver's tracepoints say, in a buffer of our own.
 */
#ifndef PINION_TEST_TRACING_H
#define PINION_TEST_TRACING_H

#include "harness.h"

/* All of them from here on, or skip the test. */
void tracing_start(void);
void tracing_stop(void);

/* The last line of this event that contains @with; it must be there. */
const char *tracing_last(const char *event, const char *with);
/* How many there are. */
unsigned int tracing_count(const char *event, const char *with);
/* The sum of NAME=VALUE over all lines of this event. */
uint64_t tracing_sum(const char *event, const char *name);
/* NAME=VALUE of a line. */
uint64_t tracing_value(const char *line, const char *name);

#endif /* PINION_TEST_TRACING_H */
