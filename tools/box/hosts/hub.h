/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The Ethernet between the hosts: a learning switch with bounded queues. While a queue is full
 * whose host reads, all senders wait, as with pause frames. Frames for a host that does not read
 * are dropped.
 */
#ifndef BOX_HUB_H
#define BOX_HUB_H

enum { HUB_PORTS = 8 };

struct hub_counts {
	unsigned long passed,
		dropped; /* frames, counted once for each output port */
};

/* Switch frames between the @n sockets @fd; each datagram is a frame. Never returns. */
void hub_run(const int *fd, int n, struct hub_counts *counts)
	__attribute__((noreturn));

#endif /* BOX_HUB_H */
