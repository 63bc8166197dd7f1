/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Events of the tracepoints of the driver, in a trace instance of this test.
 */
#ifndef PINION_TEST_TRACING_H
#define PINION_TEST_TRACING_H

#include "harness.h"

/* Record all events from now on, or skip the test. */
void tracing_start(void);
void tracing_stop(void);

/* Add a line of our own. Any thread; the buffer must be there. */
void tracing_mark(const char *text);
/* How many lines of ours have @text, between the first and the last line of this event. */
unsigned int tracing_marks_within(const char *event, const char *text);

/* The last line of this event that contains @with. The test fails if there is none. */
const char *tracing_last(const char *event, const char *with);
/* How many lines of this event contain @with. */
unsigned int tracing_count(const char *event, const char *with);
/* The sum of NAME=VALUE over all lines of this event. */
uint64_t tracing_sum(const char *event, const char *name);
/* NAME=VALUE of a line. */
uint64_t tracing_value(const char *line, const char *name);

#endif /* PINION_TEST_TRACING_H */
