/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A box that is one of several hosts. The commands start when all hosts are up, or when the command
 * of the first listens. Each host stays up until the last command has ended.
 */
#ifndef BOX_INIT_PEERS_H
#define BOX_INIT_PEERS_H

#include <sys/types.h>

#include "job.h"

/* Wait until the command may start. Returns at once in a single box. */
void peers_await_go(const struct job *job);
/* If other hosts wait for the command to listen, start a script that reports it. */
void peers_watch(const struct job *job);
/* Call it for each child that has ended: it may be that script. */
void peers_reaped(pid_t pid, int status);
/* Wait until the commands of all hosts have ended. Returns at once in a single box. */
void peers_await_end(const struct job *job);

#endif /* BOX_INIT_PEERS_H */
