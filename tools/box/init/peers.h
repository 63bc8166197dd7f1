/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The other hosts on its network, if there are any: their commands begin when all of them are
 * up, or when that of the first listens, and all stay up until the last command has ended.
 */
#ifndef BOX_INIT_PEERS_H
#define BOX_INIT_PEERS_H

#include <sys/types.h>

#include "job.h"

void peers_await_go(const struct job *job);
/* Begins to look whether the command listens, if somebody waits for that. */
void peers_watch(const struct job *job);
/* A child has ended. */
void peers_reaped(pid_t pid, int status);
void peers_await_end(const struct job *job);

#endif /* BOX_INIT_PEERS_H */
