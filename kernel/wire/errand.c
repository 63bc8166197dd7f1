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
	errand->by_requester = way->by_requester;
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

	return errand && errand->large && errand->by_requester;
}

bool pinion_errand_take(struct pinion_wire *wire)
{
	struct pinion_errand *errand = errand_of_sender();
	u32 i;

	if (!errand || errand->large)
		return false;
	for (i = 0; i < errand->count; i++)
		if (errand->wires[i] == wire)
			return true;
	if (errand->count == ARRAY_SIZE(errand->wires))
		return false;
	pinion_users_get(&wire->users);
	errand->wires[errand->count++] = wire;
	return true;
}

void pinion_errand_run(struct pinion_errand *errand)
{
	struct pinion_wire *wire;
	int i;

	for (i = 0; errand->count; i++) {
		wire = errand->wires[--errand->count];
		if (i < TIMES && !errand->large)
			pinion_wire_receive(wire, errand);
		else
			pinion_wire_leave(wire);
		pinion_users_put(&wire->users);
	}
	errand->large = false;
}
