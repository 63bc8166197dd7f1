/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The lock of one queue. It is not taken if the application has promised that only one
 * thread at a time uses the queue. Held while requests or completions are copied; longer
 * only while a queue is resized, or completions of a destroyed QP are removed.
 */
#ifndef PINION_LOCK_H
#define PINION_LOCK_H

#include <stdbool.h>

struct pinion_lock {
	bool held;
	bool needed;
};

/* Returns with the lock held. */
void pinion_lock_wait(struct pinion_lock *lock);

static inline void pinion_lock_init(struct pinion_lock *lock,
				    bool single_threaded)
{
	lock->held = false;
	lock->needed = !single_threaded;
}

static inline void pinion_lock(struct pinion_lock *lock)
{
	if (lock->needed &&
	    __atomic_exchange_n(&lock->held, true, __ATOMIC_ACQUIRE))
		pinion_lock_wait(lock);
}

static inline void pinion_unlock(struct pinion_lock *lock)
{
	if (lock->needed)
		__atomic_store_n(&lock->held, false, __ATOMIC_RELEASE);
}

#endif /* PINION_LOCK_H */
