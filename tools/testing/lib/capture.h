/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Captures the RoCEv2 packets that leave by a network device of this host.
 */
#ifndef PINION_TEST_CAPTURE_H
#define PINION_TEST_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct captured {
	uint8_t bytes[70000];
	size_t length;
	const uint8_t *ip, *udp;
	int tag; /* of a VLAN: priority and number; -1: none */
	bool v6;
};

/* Two bytes of a packet as a number. */
static inline uint32_t get16(const uint8_t *at)
{
	return at[0] << 8 | at[1];
}

/* Opens a packet socket that sees what leaves by @netdev from now on, from its link header on. */
int capture_open(const char *netdev);
/* Waits for the next packet to queue pair @qpn. */
void capture_next(int fd, struct captured *seen, uint32_t qpn);
/* The next packet of RoCEv2, to whatever queue pair. False: none has left since. */
bool capture_try(int fd, struct captured *seen);
/* Has none left since? */
bool capture_is_empty(int fd);

#endif /* PINION_TEST_CAPTURE_H */
