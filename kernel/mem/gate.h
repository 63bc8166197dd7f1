/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A gate: many are inside it for a moment, and now and then one changes what is behind it
 * while nobody is.
 *
 * Who is inside moves bytes and does nothing else: he is not preempted, does not sleep and
 * waits for nobody. So a gate has no lock that those who enter write to. Each CPU has a few
 * slots, which name the gates whose inside this CPU is in; who closes a gate forbids entry,
 * then waits until no slot names it. That lasts for one stretch of copying at most, and no
 * scheduler has a part in it: who is inside runs until he is out.
 *
 *	enter	slot = gate; barrier; closed? then slot = NULL, and refused
 *	leave	slot = NULL
 *	close	closed = 1; barrier; until no CPU's slot names the gate
 *	open	closed = 0; wake
 *	sync	barrier; until each slot that names the gate was left once
 *
 * Who closes is not preempted, either, until he opens. So who finds a gate closed waits for
 * a few stores, and for those inside, but never for a thread that has no processor. And who
 * waits owns nothing: were he given the gate when it opens, the next who closes it would wait
 * until he is scheduled, which may be long after.
 *
 * What can be changed by a store, and only has to be out of use when a call returns, needs
 * no closed gate: store, then pinion_gate_sync(). Nobody is refused meanwhile.
 *
 * A gate is in what it guards. Whoever calls these functions keeps that from being freed, by
 * a reference or by RCU; to be inside a gate is to be in an RCU read-side section. None
 * of them touches the gate after it has let go of it.
 */
#ifndef PINION_MEM_GATE_H
#define PINION_MEM_GATE_H

#include <linux/lockdep.h>
#include <linux/percpu.h>
#include <linux/types.h>

struct pinion_gate {
	unsigned long state;		/* PINION_GATE_CLOSED; for wait_on_bit() */
#ifdef CONFIG_LOCKDEP
	struct lockdep_map dep_map;
#endif
};

#define PINION_GATE_CLOSED	0

/*
 * How many gates one CPU is inside at a time. A copy has two ends, and each may be in a
 * window's gate and in its region's. A softirq that comes in between needs as many again; it
 * finds those of the task in use, and has left its own before the task goes on.
 */
#define PINION_GATE_DEPTH	8

/* Of one CPU, which alone writes it. Others look at @inside first, a cache line. */
struct pinion_gate_slots {
	struct pinion_gate *inside[PINION_GATE_DEPTH];
	u32 left[PINION_GATE_DEPTH];	/* how often each was, so that the same again is another */
} ____cacheline_aligned;

DECLARE_PER_CPU(struct pinion_gate_slots, pinion_gate_slots);

/* Open. All gates are of one class to lockdep. */
void pinion_gate_init(struct pinion_gate *gate);

/*
 * Return: the slot, for pinion_gate_leave(), and preemption is off till then; or -EBUSY: leave
 * all gates, pinion_gate_wait(), and try again. In task or softirq context.
 */
int pinion_gate_enter(struct pinion_gate *gate);
void pinion_gate_leave(int slot);

/* The same for who is in no other gate and may sleep: it does not fail. */
int pinion_gate_enter_wait(struct pinion_gate *gate);

/* Sleeps until the gate is open, though it may be closed again by then. In no gate. */
void pinion_gate_wait(struct pinion_gate *gate);

/*
 * When it returns nobody is inside or gets in until pinion_gate_open(), preemption is off, and
 * what those inside did is seen. May sleep before that; in no gate.
 */
void pinion_gate_close(struct pinion_gate *gate);
void pinion_gate_open(struct pinion_gate *gate);

/*
 * When it returns everybody has left who was inside when it was called, and who has come
 * since sees what was stored before. Does not sleep; in no gate.
 */
void pinion_gate_sync(struct pinion_gate *gate);

#endif
