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

/*
 * Objects of the device; pinned pages: those accounted to this process, and all; and the lowest number
 * that a file can get, as one that is taken and leads to no file is in no list.
 */
struct state {
	struct resources resources;
	long vm_pin;
	long long pages;
	int free_fd;
};

static int lowest_free_fd(void)
{
	int fd = dup(STDERR_FILENO);

	CHECK(fd >= 0);
	close(fd);
	return fd;
}

static void state_read(const struct op *op, struct state *state)
{
	state->resources = (struct resources){ .known = true };
	if (!op->no_device)
		resources_read(&state->resources);
	state->vm_pin = vm_pin(0);
	state->pages = pinned_pages();
	state->free_fd = lowest_free_fd();
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
	snprintf(
		text, size,
		"VmPin %ld KiB, was %ld; %lld pages pinned, were %lld; file %d is next, was %d",
		after.vm_pin, before->vm_pin, after.pages, before->pages,
		after.free_fd, before->free_fd);
	return after.vm_pin == before->vm_pin && after.pages == before->pages &&
	       after.free_fd == before->free_fd;
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

struct course {
	const struct op *op;
	bool lasting; /* all after the fault fail, too */
	struct state before;
	unsigned int last, tried, errors, survived;
};

static void arm(const struct course *course, unsigned int nth)
{
	if (course->lasting)
		fault_arm_lasting(nth);
	else
		fault_arm(nth);
}

/* A child calls attempt() and exits with a fault armed. Was the fault hit? */
static bool exit_after(const struct course *course, unsigned int nth)
{
	siginfo_t info;
	bool hit;
	int pid;

	fflush(stdout);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		CHECK_EQ(course->op->attempt(), 0);
		fault_inherit();
		arm(course, nth);
		syscall(SYS_exit_group, 0);
	}
	CHECK_EQ(waitid(P_PID, pid, &info, WEXITED | WNOWAIT), 0);
	hit = fault_hit(pid);
	reap_ok(pid);
	return hit;
}

static int attempt(const struct course *course, unsigned int nth, bool *hit)
{
	const struct op *op = course->op;
	int err;

	if (op->exits) {
		*hit = exit_after(course, nth);
		return 0;
	}
	if (op->prepare)
		op->prepare();
	arm(course, nth);
	err = op->attempt();
	*hit = fault_disarm();
	return err;
}

/*
 * A short run skips some of the faults in the middle, and looks for leaks only after some of the
 * faults, because that takes longer than the rest. The last faults are those of answers, after which
 * most has to be undone.
 */
enum {
	ALL_OF_THE_FIRST = 40,
	SHORT_STRIDE = 5,
	ALL_OF_THE_LAST = 12,
	LOOK_AFTER = 6,
};

static unsigned int step(unsigned int nth, unsigned int stride)
{
	if (in_short() && nth >= ALL_OF_THE_FIRST && stride < SHORT_STRIDE)
		stride = SHORT_STRIDE;
	return rnd_in(1, stride);
}

/* Return: whether there was a call to fail. */
static bool fail_one(struct course *course, unsigned int nth)
{
	const struct op *op = course->op;
	bool hit;
	int err;

	context("%s, fault %u%s", op->name, nth,
		course->lasting ? " and all after it" : "");
	err = attempt(course, nth, &hit);
	if (err < 0)
		FAIL("a negative errno %d", err);
	if (err)
		course->errors++;
	else if (hit)
		course->survived++;
	if (err && !hit)
		FAIL("failed with errno %d for no reason", err);
	if (!err && op->undo)
		op->undo();
	if (!in_short() || !hit || course->tried % LOOK_AFTER == 0)
		check_same(op, &course->before);
	if (!hit)
		return false;
	course->tried++;
	if (nth > course->last)
		course->last = nth;
	return true;
}

/*
 * There is no fault @end any more: go back over the last ones. Also over those that were hit: a call
 * asks for less once caches are filled, so that between two faults the others may have moved, and
 * one was passed over.
 */
static void fail_last(struct course *course, unsigned int end)
{
	unsigned int nth, hits = 0;

	for (nth = end - 1; nth && hits < ALL_OF_THE_LAST; nth--)
		hits += fail_one(course, nth);
	check_same(course->op, &course->before);
}

/* By long steps, the last fault may lie far before @end, where there is none any more. */
static void seek_last(struct course *course, unsigned int end)
{
	while (end - course->last > 1) {
		unsigned int nth = (course->last + end) / 2;

		if (!fail_one(course, nth))
			end = nth;
	}
}

static void check_course(const struct course *course, unsigned int stride)
{
	const struct op *op = course->op;
	unsigned int at_least = op->at_least ?: 1;
	/* Long steps may miss the few of many faults that cannot be survived alone. */
	bool may_survive = op->exits ||
			   (!course->lasting && (op->survives || stride > 1));

	note("%s: %u %sfaults in %u places (at least %u), %u failed, %u survived",
	     op->name, course->tried, course->lasting ? "lasting " : "",
	     course->last, at_least, course->errors, course->survived);
	if (course->last < at_least)
		FAIL("%s: faults in %u places, not %u: what is to fail is not asked for any more",
		     op->name, course->last, at_least);
	if (!course->errors && !may_survive)
		FAIL("%s: survived all of %u faults", op->name, course->tried);
}

static unsigned int sweep_course(const struct op *op, unsigned int stride,
				 bool lasting)
{
	struct course course = { .op = op, .lasting = lasting };
	unsigned int nth = 1;

	/* Run it once without a fault, so that caches are filled. */
	if (op->prepare)
		op->prepare();
	if (op->exits)
		exit_after(&course, 1000000);
	else
		CHECK_EQ(op->attempt(), 0);
	if (op->undo)
		op->undo();
	state_read(op, &course.before);
	/* What is not known cannot be compared. */
	CHECK(course.before.resources.known);
	while (nth < MOST && (fail_one(&course, nth) ||
			      (op->others && fail_one(&course, nth))))
		nth += step(nth, stride);
	CHECK(nth < MOST);
	if (stride == 1)
		fail_last(&course, nth);
	else
		seek_last(&course, nth);
	context("%s", "");
	check_course(&course, stride);
	return course.last;
}

unsigned int sweep_some(const struct op *op, unsigned int stride)
{
	unsigned int faults = sweep_course(op, stride, false);

	if (op->lasting) {
		fault_lasting_prepare(op->but_in);
		if (in_short() && op->lasting > stride)
			stride = op->lasting;
		sweep_course(op, stride, true);
		fault_lasting_end(op->but_in);
	}
	return faults;
}

unsigned int sweep(const struct op *op)
{
	return sweep_some(op, 1);
}

/* ---------------------------------------------------------------------- ends */

static const struct ending *ending;
static void *object;
static long long count;

static long long count_kind(void)
{
	struct resources res;

	if (!ending->answers || !*ending->answers)
		return 0;
	resources_read(&res);
	return resources_count(&res, ending->answers);
}

static void make(void)
{
	if (object)
		return;
	object = MUST(ending->make());
	count = count_kind();
}

/* The first end has failed, and nothing fails now. The next fault finds another object. */
static void end_unlisted(void)
{
	int err = ending->end(object);

	if (err != ENOENT)
		CHECK_EQ(err, 0);
	object = NULL;
	make();
}

static int end_it(void)
{
	int err = ending->end(object);

	/* It may be gone in spite of the error. */
	if (err && count_kind() < count)
		err = 0;
	if (!err)
		object = NULL;
	return err;
}

static int end_or_find_out(void)
{
	int err = end_it();

	if (err && ending->answers && !*ending->answers)
		end_unlisted();
	return err;
}

void sweep_end(const struct ending *what)
{
	ending = what;
	make();
	sweep(&(struct op){ .name = ending->name,
			    .attempt = end_or_find_out,
			    .undo = make,
			    .at_least = ending->at_least });
	CHECK_EQ(end_it(), 0);
}

void sweep_ends(const struct ending *ends, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		sweep_end(&ends[i]);
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
