// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Errands: the sender of packets to this host processes what arrives.
 *
 * The softirqs that a sent packet raises run on the sender's CPU before the sender goes on. So each
 * CPU has a pointer to the errand of the task that is sending there (migration is disabled). If a
 * softirq has interrupted that very task (errand->who == current), it adds to the errand; no other
 * context accesses the errand at that time. If two tasks send on one CPU at the same time, only the
 * first has an errand.
 */
#include <linux/percpu.h>
#include <linux/preempt.h>

#include "errand.h"
#include "wire.h"

/* A packet larger than this, in bytes, is worth waking a thread on another CPU. */
#define LARGE	2048
/* The number of sockets processed in one errand: processing one may send, and add another. */
#define TIMES	8

static DEFINE_PER_CPU(struct pinion_errand *, errand_here);

void pinion_errand_begin(const struct pinion_way *way, u32 bytes)
{
	struct pinion_errand *errand = way->errand;

	if (!errand)
		return;
	if (bytes > LARGE)
		errand->large = true;
	migrate_disable();
	if (this_cpu_cmpxchg(errand_here, NULL, errand))
		return;
	WRITE_ONCE(errand->who, current);
}

void pinion_errand_end(const struct pinion_way *way)
{
	struct pinion_errand *errand = way->errand;

	if (!errand)
		return;
	if (errand->who) {
		this_cpu_write(errand_here, NULL);
		errand->who = NULL;
	}
	migrate_enable();
}

/* The errand of the task that this softirq has interrupted, or NULL. */
static struct pinion_errand *errand_of_sender(void)
{
	struct pinion_errand *errand = this_cpu_read(errand_here);

	return errand && READ_ONCE(errand->who) == current ? errand : NULL;
}

bool pinion_errand_is_stream(void)
{
	const struct pinion_errand *errand = errand_of_sender();

	return errand && errand->large && errand->requester;
}

/* The stop at @wire, a new one if there is none yet; or NULL if there is no room for it. */
static struct pinion_errand_stop *errand_stop_at(struct pinion_errand *errand,
						 struct pinion_wire *wire)
{
	struct pinion_errand_stop *stop;
	u32 i;

	for (i = 0; i < errand->count; i++)
		if (errand->stops[i].wire == wire)
			return &errand->stops[i];
	if (errand->count == ARRAY_SIZE(errand->stops))
		return NULL;
	pinion_users_get(&wire->users);
	stop = &errand->stops[errand->count++];
	*stop = (struct pinion_errand_stop){ .wire = wire };
	return stop;
}

bool pinion_errand_take(struct pinion_wire *wire)
{
	struct pinion_errand *errand = errand_of_sender();
	struct pinion_errand_stop *stop = errand ? errand_stop_at(errand, wire) : NULL;

	if (!stop)
		return false;
	if (errand->large)
		stop->queued = true;
	return !stop->queued;
}

/* Process what has arrived at @stop, unless a work item does. */
static void errand_visit(struct pinion_errand *errand, const struct pinion_errand_stop *stop,
			 bool waits)
{
	if (!stop->queued)
		pinion_wire_receive(stop->wire, errand);
	else if (waits)
		pinion_wire_help(stop->wire, errand);
}

void pinion_errand_leave(struct pinion_errand *errand)
{
	const struct pinion_errand_stop *stop;

	while (errand->count) {
		stop = &errand->stops[--errand->count];
		if (!stop->queued)
			pinion_wire_leave(stop->wire);
		pinion_users_put(&stop->wire->users);
	}
	errand->large = false;
}

void pinion_errand_run(struct pinion_errand *errand, bool waits)
{
	struct pinion_errand_stop stop;
	int i;

	errand->waits = waits;
	for (i = 0; errand->count && i < TIMES && (waits || !errand->large); i++) {
		/* Visiting one may send, and so add stops and set @large again. */
		stop = errand->stops[--errand->count];
		if (waits)
			errand->large = false;
		errand_visit(errand, &stop, waits);
		pinion_users_put(&stop.wire->users);
	}
	pinion_errand_leave(errand);
}
