/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A process that minds its own business on the same device while others misbehave:
 * its traffic must go on, and its memory must be what it made it.
 */
#ifndef PINION_TEST_VICTIM_H
#define PINION_TEST_VICTIM_H

#include "link.h"

/* What an attacker may well have learned about it. */
struct victim {
	int pid;
	uint32_t rkey, lkey, qpn, ud_qpn, handle;
	uint64_t addr, length;
	unsigned long rounds;
	bool stop;
};

/* In shared memory. */
volatile struct victim *victim_start(void);
/* It is well, and has done something; otherwise the test fails. */
void victim_end(volatile struct victim *victim);

#endif /* PINION_TEST_VICTIM_H */
