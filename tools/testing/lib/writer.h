/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A thread that writes through a key without end, and reads if that is asked for, while the test
 * changes the key or its memory. Each message must succeed or be refused; anything else fails the
 * test.
 */
#ifndef PINION_TEST_WRITER_H
#define PINION_TEST_WRITER_H

#include <pthread.h>

#include "link.h"

struct writer {
	struct link *link; /* the writer alone uses link->a */
	struct region *from; /* each write sends all of it, each read fills it */
	bool reads; /* about half of the messages are reads */
	uint64_t addr;
	_Atomic uint32_t rkey; /* the test may change it at any time */

	_Atomic bool stop;
	pthread_t thread;
	_Atomic unsigned long done, refused;
};

void writer_start(struct writer *writer);
/* Stop it; prints @rounds of the test. The test fails if no message was done. */
void writer_end(struct writer *writer, unsigned long rounds);

#endif /* PINION_TEST_WRITER_H */
