/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What goes on between a machine that is one of several hosts and box-hosts.
 */
#ifndef BOX_HOST_PEERS_H
#define BOX_HOST_PEERS_H

#include <stdint.h>

/* To box-hosts at @fd; nothing if that is -1. */
void peers_tell(int fd, int type, int32_t value);
/* What it says, a type of frame; 0 when it has gone. */
int peers_hear(int fd);

#endif /* BOX_HOST_PEERS_H */
