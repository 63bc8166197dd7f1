// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Walks a verb through its faults.
 */
#define _GNU_SOURCE
#include <unistd.h>

#include "resources.h"
#include "sweep.h"

static bool same(const struct resources *before, long pins, char *text,
		 size_t size)
{
	struct resources after;

	resources_read(&after);
	if (before->known && resources_differ(before, &after, text, size))
		return false;
	if (vm_pin(0) == pins)
		return true;
	snprintf(text, size, "VmPin %ld KiB, was %ld", vm_pin(0), pins);
	return false;
}

/* Freed by RCU or a worker: give it a moment. */
static void check_same(const struct resources *before, long pins)
{
	double end = now() + patience(60);
	char text[256];

	while (!same(before, pins, text, sizeof(text))) {
		if (now() > end)
			FAIL("left behind: %s", text);
		usleep(5000);
	}
}

void sweep_some(const struct op *op, unsigned int stride)
{
	struct resources before;
	unsigned int nth, tried = 0, errors = 0, survived = 0;
	long pins;

	/* Once without, so that what is cached is there. */
	CHECK_EQ(op->attempt(), 0);
	if (op->undo)
		op->undo();
	resources_read(&before);
	pins = vm_pin(0);
	for (nth = 1; nth < 2000; nth += rnd_in(1, stride), tried++) {
		bool hit;
		int err;

		context("%s, fault %u", op->name, nth);
		fault_arm(nth);
		err = op->attempt();
		hit = fault_disarm();
		if (err < 0)
			FAIL("a negative errno %d", err);
		if (err)
			errors++;
		else if (hit)
			survived++;
		if (err && !hit)
			FAIL("failed with errno %d for no reason", err);
		if (!err && op->undo)
			op->undo();
		check_same(&before, pins);
		if (!hit)
			break;
	}
	context("%s", "");
	note("%s: %u faults, %u failed, %u survived", op->name, tried, errors,
	     survived);
	CHECK(nth < 2000);
}

void sweep(const struct op *op)
{
	sweep_some(op, 1);
}
