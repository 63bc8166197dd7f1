// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Gates: hazard pointers, one cache line per CPU. See gate.h for how they are used.
 *
 * The barriers, by letter:
 *
 * A  enter: the slot is stored before the reader reads the closed bit, and before it reads what
 *    the gate protects.
 *    close, sync: the writer stores its change (the closed bit; an entry) before it reads slots.
 *    So if the reader does not see the change, the writer sees the slot.
 * B  leave: all accesses inside are done before the slot is cleared (release).
 *    close, sync: the writer sees the cleared slot before it changes or frees what the gate
 *    protects (acquire).
 * C  open: the writer's changes are stored before the closed bit is cleared (release).
 *    enter: the reader sees the gate open before it reads what the gate protects (acquire).
 *
 * CPU hotplug: an offline CPU has no slot in use, since readers are not preempted and a CPU goes
 * offline between tasks. A CPU that comes online is in the mask before it runs a task, so by A
 * either its task sees the change or the writer sees the CPU. A CPU that went offline has passed
 * through the scheduler since its reader left, which is a full barrier; together with the
 * smp_mb() at the end of gate_drain() it replaces B.
 *
 * PREEMPT_RT: nothing here or inside is a sleeping lock. The latency is that of copying one
 * stretch. On one CPU nobody ever finds a gate closed or a slot in use, since neither writers nor
 * readers are preempted.
 */
#include <linux/bitops.h>
#include <linux/cpumask.h>
#include <linux/kernel.h>
#include <linux/preempt.h>
#include <linux/processor.h>

#include "gate.h"

DEFINE_PER_CPU(struct pinion_gate_slots, pinion_gate_slots);

void pinion_gate_init(struct pinion_gate *gate)
{
	static struct lock_class_key gate_class;

	gate->state = 0;
	/* LD_WAIT_SPIN as for a raw spinlock: lockdep reports mutexes and spinlocks inside. */
	lockdep_init_map_wait(&gate->dep_map, "pinion_gate", &gate_class, 0, LD_WAIT_SPIN);
}

static bool gate_is_closed(const struct pinion_gate *gate)
{
	/* Barrier C. */
	return test_bit_acquire(PINION_GATE_CLOSED, &gate->state);
}

/* ------------------------------------------------------------------- inside */

/* A softirq in between may use slots, but clears them again: a slot that was free stays free. */
static int gate_slot_find(const struct pinion_gate_slots *slots)
{
	int slot = 0;

	while (slot < PINION_GATE_DEPTH && slots->inside[slot])
		slot++;
	return slot;
}

static void gate_slot_empty(struct pinion_gate_slots *slots, int slot)
{
	/* Barrier B: gate_slot_wait() reads either of the two. */
	smp_store_release(&slots->left[slot], slots->left[slot] + 1);
	smp_store_release(&slots->inside[slot], NULL); /* B */
}

int pinion_gate_enter(struct pinion_gate *gate)
{
	struct pinion_gate_slots *slots;
	int slot;

	preempt_disable();
	slots = this_cpu_ptr(&pinion_gate_slots);
	slot = gate_slot_find(slots);
	if (WARN_ON_ONCE(slot == PINION_GATE_DEPTH))
		goto err_enable;
	/* Barrier A: xchg() is a full barrier. */
	xchg(&slots->inside[slot], gate);
	if (gate_is_closed(gate))
		goto err_empty;
	/* A trylock to lockdep: entering cannot deadlock, but locks taken inside could. */
	lock_acquire_shared(&gate->dep_map, 0, 1, NULL, _RET_IP_);
	return slot;

err_empty:
	gate_slot_empty(slots, slot);
err_enable:
	preempt_enable();
	return -EBUSY;
}

void pinion_gate_leave(int slot)
{
	struct pinion_gate_slots *slots = this_cpu_ptr(&pinion_gate_slots);

	lock_release(&slots->inside[slot]->dep_map, _RET_IP_);
	gate_slot_empty(slots, slot);
	preempt_enable();
}

int pinion_gate_enter_wait(struct pinion_gate *gate)
{
	int slot;

	while ((slot = pinion_gate_enter(gate)) < 0)
		pinion_gate_wait(gate);
	return slot;
}

/*
 * As for a spinlock: the gate is closed only while a writer changes a few words and while readers
 * copy one stretch, and none of them can be preempted.
 */
void pinion_gate_wait(struct pinion_gate *gate)
{
	/* In a softirq it might have interrupted the task that has closed the gate. */
	WARN_ON_ONCE(!in_task());
	/* Tell lockdep: a deadlock if we hold a lock that a task takes while the gate is closed. */
	lock_acquire_shared(&gate->dep_map, 0, 0, NULL, _RET_IP_);
	lock_release(&gate->dep_map, _RET_IP_);
	while (gate_is_closed(gate))
		cpu_relax();
}

/* ------------------------------------------------------------------ outside */

/* Wait until the reader that is inside @gate by @slot, if there is one, has left. */
static void gate_slot_wait(const struct pinion_gate_slots *slots, int slot,
			   const struct pinion_gate *gate)
{
	u32 left;

	if (smp_load_acquire(&slots->inside[slot]) != gate) /* B */
		return;
	/*
	 * This reader or a later one: the CPU may leave and enter again so fast that we never
	 * see the slot empty, but each time it leaves it counts.
	 */
	left = smp_load_acquire(&slots->left[slot]); /* B */
	do {
		cpu_relax();
		if (smp_load_acquire(&slots->inside[slot]) != gate) /* B */
			return;
	} while (smp_load_acquire(&slots->left[slot]) == left); /* B */
}

static void gate_drain(const struct pinion_gate *gate)
{
	const struct pinion_gate_slots *slots;
	int cpu, slot;

	smp_mb(); /* A */
	for_each_online_cpu(cpu) {
		slots = per_cpu_ptr(&pinion_gate_slots, cpu);
		for (slot = 0; slot < PINION_GATE_DEPTH; slot++)
			gate_slot_wait(slots, slot, gate);
	}
	smp_mb(); /* for CPUs that went offline, see above */
}

void pinion_gate_close(struct pinion_gate *gate)
{
	for (;;) {
		/* All readers wait for the owner of a closed gate, so it must not be preempted. */
		preempt_disable();
		if (!test_and_set_bit_lock(PINION_GATE_CLOSED, &gate->state))
			break;
		preempt_enable();
		pinion_gate_wait(gate);
	}
	lock_acquire_exclusive(&gate->dep_map, 0, 0, NULL, _RET_IP_);
	gate_drain(gate);
}

void pinion_gate_open(struct pinion_gate *gate)
{
	lock_release(&gate->dep_map, _RET_IP_);
	/* C. Once the bit is clear another task may close the gate for good, and free it. */
	clear_bit_unlock(PINION_GATE_CLOSED, &gate->state);
	preempt_enable();
}

void pinion_gate_sync(struct pinion_gate *gate)
{
	lock_acquire_exclusive(&gate->dep_map, 0, 0, NULL, _RET_IP_);
	gate_drain(gate);
	lock_release(&gate->dep_map, _RET_IP_);
}
