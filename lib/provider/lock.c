// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Waiting for a queue's lock. Spin first: its owner holds it for a short time. If that
 * takes longer the owner was preempted, or resizes the queue: then yield the CPU.
 */
#include <sched.h>

#include "lock.h"

enum { SPINS = 100 };

static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#else
	__asm__ volatile("" ::: "memory");
#endif
}

void pinion_lock_wait(struct pinion_lock *lock)
{
	int spins = 0;

	do {
		while (__atomic_load_n(&lock->held, __ATOMIC_RELAXED)) {
			if (spins++ < SPINS)
				relax();
			else
				sched_yield();
		}
	} while (__atomic_exchange_n(&lock->held, true, __ATOMIC_ACQUIRE));
}
