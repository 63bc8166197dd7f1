/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Writes without end, in a thread of their own, to whatever a key is now: they do or are
 * refused, and nothing else.
 */
#ifndef PINION_TEST_WRITER_H
#define PINION_TEST_WRITER_H

#include <pthread.h>

#include "link.h"

struct writer {
	struct link *link; /* whose a it is, which nobody else uses */
	struct region *from; /* all of it, again and again */
	uint64_t addr;
	_Atomic uint32_t rkey; /* may be another one at any time */

	_Atomic bool stop;
	pthread_t thread;
	_Atomic unsigned long done, refused;
};

void writer_start(struct writer *writer);
/* After so many @rounds of the test, of which it tells. It must have written. */
void writer_end(struct writer *writer, unsigned long rounds);

#endif /* PINION_TEST_WRITER_H */
