/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Runs a command as a child that is being observed. The child waits before it executes the command,
 * so that the parent can prepare for its pid.
 */
#ifndef PINIONCTL_CHILD_H
#define PINIONCTL_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

struct child {
	pid_t pid;
	int go; /* a pipe to it */
	int status; /* as of waitpid() */
};

/*
 * From here on signals end only the child, and we clean up after it: those of the terminal reach it
 * by themselves, SIGTERM and SIGHUP are sent on to it.
 */
struct child child_make(char **command);
void child_go(struct child *child);
/* Has it ended? @wait: yes. */
bool child_ended(struct child *child, bool wait);
/* The exit status for a child that has ended, as a shell would have it. */
int child_status(const struct child *child);

#endif
