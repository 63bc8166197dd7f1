/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A trace of our own of the driver's events, beside those of others.
 */
#ifndef PINIONCTL_TRACING_H
#define PINIONCTL_TRACING_H

#include <stdbool.h>
#include <sys/types.h>

struct tracing {
	char *path; /* NULL: there is none */
};

/* Of process @pid and those it makes, 0 for all; false where that cannot be had. */
bool tracing_begin(struct tracing *tracing, pid_t pid);
/* This event, too; NULL: all of them. */
bool tracing_add(struct tracing *tracing, const char *event);
/* Its files, as "trace" and "trace_pipe"; -1 with errno. */
int tracing_open(const struct tracing *tracing, const char *file, int flags);
/* Names of the driver's events with blanks between. Memory of the caller's. */
char *tracing_events(const struct tracing *tracing);
void tracing_end(struct tracing *tracing);

#endif
