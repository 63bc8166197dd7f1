/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The Ethernet between the hosts: a switch that learns who is where. Its queues are bounded.
 * Whoever sends waits while one is full whose host reads, as with pause frames; what is for a
 * host that does not read is lost.
 */
#ifndef BOX_HUB_H
#define BOX_HUB_H

enum { HUB_PORTS = 8 };

struct hub_counts {
	unsigned long passed,
		dropped; /* frames, once for each port they leave by */
};

/* Between the @n sockets @fd, a frame a datagram. Never returns. */
void hub_run(const int *fd, int n, struct hub_counts *counts)
	__attribute__((noreturn));

#endif /* BOX_HUB_H */
