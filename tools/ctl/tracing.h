/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A trace of the driver's events in an instance of its own, independent of other traces.
 */
#ifndef PINIONCTL_TRACING_H
#define PINIONCTL_TRACING_H

#include <stdbool.h>
#include <sys/types.h>

struct tracing {
	char *path; /* NULL: no trace */
};

/* Trace process @pid and its children; 0 for all. Return: false if that is not possible. */
bool tracing_begin(struct tracing *tracing, pid_t pid);
/* Enable one more event; NULL: all. */
bool tracing_add(struct tracing *tracing, const char *event);
/* Open a file of the trace, as "trace" or "trace_pipe". Return: -1 with errno set on failure. */
int tracing_open(const struct tracing *tracing, const char *file, int flags);
/* Return: the names of the driver's events, separated by blanks. The caller frees them. */
char *tracing_events(const struct tracing *tracing);
void tracing_end(struct tracing *tracing);

#endif
