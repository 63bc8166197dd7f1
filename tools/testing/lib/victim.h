/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A process that uses the same device correctly while others misbehave. Its traffic must
 * go on, and its memory must only contain what it wrote itself.
 */
#ifndef PINION_TEST_VICTIM_H
#define PINION_TEST_VICTIM_H

#include "link.h"

/* What an attacker may have learned about the victim. */
struct victim {
	int pid;
	uint32_t rkey, lkey, qpn, ud_qpn, handle;
	uint64_t addr, length;
	unsigned long rounds;
	bool stop;
};

/* Start the victim. Returns its data, in shared memory, when the victim is ready. */
volatile struct victim *victim_start(void);
/* Stop the victim. The test fails if it failed or has done nothing. */
void victim_end(volatile struct victim *victim);

#endif /* PINION_TEST_VICTIM_H */
