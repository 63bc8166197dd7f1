/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A process that forks while its other threads are in a library: a lock that one of them has stays
 * locked in the child.
 */
#ifndef PINION_TEST_FORKS_H
#define PINION_TEST_FORKS_H

/*
 * Fork 50 times while two threads make @call all the time. Each child makes @child, and must end
 * well, in time.
 */
void fork_beside(void (*call)(void *arg), void (*child)(void *arg), void *arg);

#endif /* PINION_TEST_FORKS_H */
