// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A process that outlives the test, to undo what the test has set.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <unistd.h>

#include "harness.h"
#include "undo.h"

void undo_at_end(void (*undo)(void))
{
	int ends[2];
	char none;

	CHECK_EQ(pipe(ends), 0);
	fflush(stdout);
	switch (fork()) {
	case -1:
		FAIL("fork: errno %d", errno);
	case 0:
		/* Harnesses end the test's processes by their group, and wait for this one. */
		setsid();
		close(ends[1]);
		/* Nothing is written: this returns when all who have the other end are gone. */
		while (read(ends[0], &none, 1) < 0)
			;
		undo();
		fflush(stdout);
		_exit(0);
	}
	close(ends[0]);
}
