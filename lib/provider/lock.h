/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The lock of one queue, which costs nothing where the application promised that
 * one thread at a time uses it. Held for the time of a copy, never longer, except
 * where the ring itself is replaced.
 */
#ifndef PINION_LOCK_H
#define PINION_LOCK_H

#include <pthread.h>
#include <stdbool.h>

struct pinion_lock {
	pthread_spinlock_t spin;
	bool needed;
};

static inline void pinion_lock_init(struct pinion_lock *lock,
				    bool single_threaded)
{
	pthread_spin_init(&lock->spin, PTHREAD_PROCESS_PRIVATE);
	lock->needed = !single_threaded;
}

static inline void pinion_lock(struct pinion_lock *lock)
{
	if (lock->needed)
		pthread_spin_lock(&lock->spin);
}

static inline void pinion_unlock(struct pinion_lock *lock)
{
	if (lock->needed)
		pthread_spin_unlock(&lock->spin);
}

#endif /* PINION_LOCK_H */
