/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The lock of one queue, which costs nothing where the application promised that
 * one thread at a time uses it. Held for the time of a copy, never longer, except
 * where the ring itself is replaced, or swept of a queue pair that has ended.
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
