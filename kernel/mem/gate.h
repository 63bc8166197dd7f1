/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A gate: readers (movers of bytes) are inside it for a moment at a time, and now and then a
 * writer closes it to change what is behind it while no reader is inside.
 *
 * A reader inside only moves bytes: it runs with preemption off, does not sleep and waits for
 * nothing. So readers take no lock and write to no cache line that CPUs share. Each CPU has a
 * few slots (hazard pointers) that hold the addresses of the gates it is inside. A writer
 * forbids entry, then spins until no slot of any CPU holds its gate. That lasts for one stretch
 * of copying at most, and never for a task that is not running.
 *
 *	enter	slot = gate; barrier; closed? then slot = NULL, and refused
 *	leave	slot = NULL
 *	close	closed = 1; barrier; until no CPU's slot names the gate
 *	open	closed = 0
 *	sync	barrier; until each slot that names the gate was left once
 *
 * The writer, too, runs with preemption off from close to open. So a task that finds the gate
 * closed spins, for a few stores and for the readers inside, but never for a preempted task.
 * Waiters own nothing: if open handed the gate to one of them, the next writer would have to
 * wait until that one is scheduled.
 *
 * A change that is one store, and whose old value only has to be out of use when a call
 * returns, needs no closed gate: store, then pinion_gate_sync(). No reader is refused.
 *
 * A gate is embedded in the object it guards. The caller of these functions keeps that object
 * from being freed, by a reference or by RCU; the inside of a gate is an RCU read-side section.
 * No function touches the gate after it has left or opened it.
 */
#ifndef PINION_MEM_GATE_H
#define PINION_MEM_GATE_H

#include <linux/lockdep.h>
#include <linux/percpu.h>
#include <linux/sizes.h>
#include <linux/types.h>

struct pinion_gate {
	unsigned long state;		/* PINION_GATE_CLOSED */
#ifdef CONFIG_LOCKDEP
	struct lockdep_map dep_map;
#endif
};

#define PINION_GATE_CLOSED	0

/*
 * Bytes that are moved before all gates are left for a moment. Bounds the time that a closer waits
 * for the gate, and other tasks for the CPU. The cost is not measurable. mem/inject.h may order
 * less.
 */
#define PINION_STRETCH		SZ_128K

/*
 * How many gates one CPU is inside at a time. A copy has two ends, and each may be in a
 * window's gate and in its region's. A softirq that comes in between needs as many again; it
 * finds those of the task in use, and has left its own before the task goes on.
 */
#define PINION_GATE_DEPTH	8

/* One CPU's; only that CPU writes it. Writers of gates read @inside first: one cache line. */
struct pinion_gate_slots {
	struct pinion_gate *inside[PINION_GATE_DEPTH];
	u32 left[PINION_GATE_DEPTH];	/* counts leaves: tells a second entry from the first */
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

/* The same, but waits until the gate is open. Task context, inside no other gate; cannot fail. */
int pinion_gate_enter_wait(struct pinion_gate *gate);

/* Spins until the gate was open once; it may be closed again on return. Inside no gate. */
void pinion_gate_wait(struct pinion_gate *gate);

/*
 * On return no reader is inside, none can enter until pinion_gate_open(), preemption is off, and
 * the readers' stores are visible. In task context, inside no gate.
 */
void pinion_gate_close(struct pinion_gate *gate);
void pinion_gate_open(struct pinion_gate *gate);

/*
 * On return every reader that was inside at the call has left, and every later one sees the
 * caller's earlier stores. Does not sleep. Call it inside no gate.
 */
void pinion_gate_sync(struct pinion_gate *gate);

#endif
