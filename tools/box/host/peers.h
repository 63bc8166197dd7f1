/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Messages to and from box-hosts, for a machine that is one of several hosts.
 */
#ifndef BOX_HOST_PEERS_H
#define BOX_HOST_PEERS_H

#include <stdint.h>

/* Send a message to box-hosts at @fd; does nothing if that is -1. */
void peers_tell(int fd, int type, int32_t value);
/* Wait for a message of box-hosts. Return: its type, or 0 if box-hosts has ended. */
int peers_hear(int fd);

#endif /* BOX_HOST_PEERS_H */
