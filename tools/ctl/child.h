/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A command that is run to see what becomes of it. It is a process that waits until all is
 * prepared for its number.
 */
#ifndef PINIONCTL_CHILD_H
#define PINIONCTL_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

struct child {
	const char *name;
	pid_t pid;
	int go; /* a pipe to it */
	int status; /* as of waitpid() */
};

/* Signals of the terminal are for it alone from here on: we clean up behind it. */
struct child child_make(char **command);
void child_go(struct child *child);
/* Has it ended? @wait: yes. */
bool child_ended(struct child *child, bool wait);
/* What to exit with once it has ended: as a shell would. */
int child_status(const struct child *child);

#endif
