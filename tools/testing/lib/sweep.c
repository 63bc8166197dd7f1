// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Injects one fault after another into a verb.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pins.h"
#include "resources.h"
#include "sweep.h"

/* A call with more allocations than this allocates without end. */
enum { MOST = 20000 };

/* Objects of the device, and pinned pages: those accounted to this process, and all. */
struct state {
	struct resources resources;
	long vm_pin;
	long long pages;
};

static void state_read(const struct op *op, struct state *state)
{
	state->resources = (struct resources){ .known = true };
	if (!op->no_device)
		resources_read(&state->resources);
	state->vm_pin = vm_pin(0);
	state->pages = pinned_pages();
}

static bool same(const struct op *op, const struct state *before, char *text,
		 size_t size)
{
	struct state after;

	if (op->clean && !op->clean(text, size))
		return false;
	state_read(op, &after);
	if (resources_differ(&before->resources, &after.resources, text, size))
		return false;
	snprintf(text, size,
		 "VmPin %ld KiB, was %ld; %lld pages pinned, were %lld",
		 after.vm_pin, before->vm_pin, after.pages, before->pages);
	return after.vm_pin == before->vm_pin && after.pages == before->pages;
}

/* Waits for up to a minute: objects may be freed by RCU or a work item. */
static void check_same(const struct op *op, const struct state *before)
{
	double end = now() + patience(60);
	char text[256];

	while (!same(op, before, text, sizeof(text))) {
		if (now() > end)
			FAIL("left behind: %s", text);
		usleep(5000);
	}
}

/* A child calls attempt() and exits with a fault armed. Was the fault hit? */
static bool exit_after(const struct op *op, unsigned int nth)
{
	siginfo_t info;
	bool hit;
	int pid;

	fflush(stdout);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		CHECK_EQ(op->attempt(), 0);
		fault_inherit();
		fault_arm(nth);
		syscall(SYS_exit_group, 0);
	}
	CHECK_EQ(waitid(P_PID, pid, &info, WEXITED | WNOWAIT), 0);
	hit = fault_hit(pid);
	reap_ok(pid);
	return hit;
}

static int attempt(const struct op *op, unsigned int nth, bool *hit)
{
	int err;

	if (op->exits) {
		*hit = exit_after(op, nth);
		return 0;
	}
	fault_arm(nth);
	err = op->attempt();
	*hit = fault_disarm();
	return err;
}

/*
 * A short run skips some of the later faults, and looks for leaks only after some of the
 * faults, because that takes longer than the rest.
 */
enum {
	ALL_OF_THE_FIRST = 16,
	SHORT_STRIDE = 5,
	LOOK_AFTER = 6,
};

static unsigned int step(unsigned int nth, unsigned int stride)
{
	if (in_short() && nth >= ALL_OF_THE_FIRST && stride < SHORT_STRIDE)
		stride = SHORT_STRIDE;
	return rnd_in(1, stride);
}

void sweep_some(const struct op *op, unsigned int stride)
{
	unsigned int nth, last = 0, tried = 0, errors = 0, survived = 0;
	unsigned int at_least = op->at_least ?: 1;
	struct state before;

	/* Run it once without a fault, so that caches are filled. */
	if (op->exits)
		exit_after(op, 1000000);
	else
		CHECK_EQ(op->attempt(), 0);
	if (op->undo)
		op->undo();
	state_read(op, &before);
	/* What is not known cannot be compared. */
	CHECK(before.resources.known);
	for (nth = 1; nth < MOST; nth += step(nth, stride), tried++) {
		bool hit;
		int err;

		context("%s, fault %u", op->name, nth);
		err = attempt(op, nth, &hit);
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
		if (!in_short() || !hit || tried % LOOK_AFTER == 0)
			check_same(op, &before);
		if (!hit)
			break;
		last = nth;
	}
	context("%s", "");
	note("%s: %u faults of %u, %u failed, %u survived", op->name, tried,
	     last, errors, survived);
	CHECK(nth < MOST);
	if (last < at_least)
		FAIL("%s: %u faults, not %u: what is to fail is not asked for any more",
		     op->name, last, at_least);
}

void sweep(const struct op *op)
{
	sweep_some(op, 1);
}

void sweeps_begin(struct link *link)
{
	link_make(link, NULL);
	fault_prepare();
}

void sweeps_end(struct link *link)
{
	struct region a = region_new(20000, 1, ALL_ACCESS);
	struct region b = region_new(20000, 7, ALL_ACCESS);

	link_renew(link);
	exchange(link, &a, &b);
}
