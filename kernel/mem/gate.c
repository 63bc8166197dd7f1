// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Gates: hazard pointers, one line a CPU. Knows nothing of keys.
 *
 * The barriers, by letter:
 *
 * A  enter: the slot is stored before the gate is asked whether it is closed, and before
 *    anything behind it is read.
 *    close, sync: what is changed (closed; an entry) is stored before slots are read.
 *    So if who enters does not see the change, who changes sees the slot.
 * B  leave: all that was done inside is done before the slot is empty (release).
 *    close, sync: an empty slot is seen before anything behind the gate is changed or
 *    freed (acquire).
 * C  open: what was changed is stored before the gate is open (release).
 *    enter: the gate is seen open before anything behind it is read (acquire).
 *
 * CPUs come and go. One that is offline has no slot in use: who is inside is not preempted,
 * and a CPU goes offline between tasks. One that comes is in the mask before it runs any, so
 * by A either its task sees the change or we see the CPU. One that went has passed through the
 * scheduler since it left, a full barrier, which with the one at the end of the walk stands
 * in for B.
 *
 * With PREEMPT_RT all this holds as it is: nothing here or inside is a sleeping lock, but
 * for the wait queue, which is woken with preemption on there. The price is a latency of a
 * stretch of copying. With one processor nobody ever finds a gate closed, or waits for
 * who is inside: neither is ever off the processor meanwhile.
 */
#include <linux/bitops.h>
#include <linux/cpumask.h>
#include <linux/kernel.h>
#include <linux/preempt.h>
#include <linux/processor.h>
#include <linux/wait_bit.h>

#include "gate.h"

/* A gate is closed for less than it takes to sleep and be woken, most of the time. */
#define SPINS	200

DEFINE_PER_CPU(struct pinion_gate_slots, pinion_gate_slots);

void pinion_gate_init(struct pinion_gate *gate)
{
	static struct lock_class_key gate_class;

	gate->state = 0;
	/* As inside a raw spinlock: a mutex that is taken there, or a spinlock, is reported. */
	lockdep_init_map_wait(&gate->dep_map, "pinion_gate", &gate_class, 0, LD_WAIT_SPIN);
}

static bool gate_is_closed(const struct pinion_gate *gate)
{
	/* C */
	return test_bit_acquire(PINION_GATE_CLOSED, &gate->state);
}

/* ------------------------------------------------------------------- inside */

/* An interrupt in between gives back what it takes, so what was found free is free. */
static int gate_slot_find(const struct pinion_gate_slots *slots)
{
	int slot = 0;

	while (slot < PINION_GATE_DEPTH && slots->inside[slot])
		slot++;
	return slot;
}

static void gate_slot_empty(struct pinion_gate_slots *slots, int slot)
{
	/* B, for whichever of the two is looked at */
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
	/* A: a store, and a full barrier by what it returns */
	xchg(&slots->inside[slot], gate);
	if (gate_is_closed(gate))
		goto err_empty;
	/* Only tried, so it is no order of locks; what is taken inside would be. */
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
 * Not killable: it lasts for as long as somebody changes a few words, or copies a stretch,
 * and neither of them can be kept from it.
 */
void pinion_gate_wait(struct pinion_gate *gate)
{
	int i;

	might_sleep();
	/* Whoever waits here with a lock held which one who closes needs would never go on. */
	lock_acquire_shared(&gate->dep_map, 0, 0, NULL, _RET_IP_);
	lock_release(&gate->dep_map, _RET_IP_);
	for (i = 0; i < SPINS && gate_is_closed(gate); i++)
		cpu_relax();
	wait_on_bit(&gate->state, PINION_GATE_CLOSED, TASK_UNINTERRUPTIBLE);
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
	smp_mb(); /* of CPUs that have gone offline, as above */
}

void pinion_gate_close(struct pinion_gate *gate)
{
	might_sleep();
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
	/*
	 * C. As soon as the bit is clear another task may close the gate for good and free it, so
	 * only its address is used after that. Waiters are woken before preemption is on again,
	 * so that they do not wait for us to be scheduled. With PREEMPT_RT a wait queue is a
	 * sleeping lock, which cannot be taken here; priority inheritance serves there instead.
	 */
	if (IS_ENABLED(CONFIG_PREEMPT_RT)) {
		clear_bit_unlock(PINION_GATE_CLOSED, &gate->state);
		preempt_enable();
		smp_mb__after_atomic(); /* open before it is asked whether anybody waits */
		wake_up_bit(&gate->state, PINION_GATE_CLOSED);
		return;
	}
	clear_and_wake_up_bit(PINION_GATE_CLOSED, &gate->state);
	preempt_enable();
}

void pinion_gate_sync(struct pinion_gate *gate)
{
	lock_acquire_exclusive(&gate->dep_map, 0, 0, NULL, _RET_IP_);
	gate_drain(gate);
	lock_release(&gate->dep_map, _RET_IP_);
}
