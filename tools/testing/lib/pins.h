/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Memory that is pinned or allocated, as the kernel counts it.
 */
#ifndef PINION_TEST_PINS_H
#define PINION_TEST_PINS_H

/* Pages pinned in the whole machine. */
long long pinned_pages(void);
/* KiB pinned by @pid (0: this process), of /proc/PID/status; -1 if there is no such process. */
long vm_pin(int pid);
/*
 * Objects allocated by a function of the kernel; 0 if it counts none at all. A function of whose
 * allocations it does not know fails the test. For root.
 */
long long allocated_by(const char *function);
/* The same for all functions of a module; -1 if the kernel counts none at all. */
long long allocated_in(const char *module);
/*
 * What kfree_rcu() frees counts as allocated until a processor has collected enough of it, which may be
 * never. Have the kernel free what it has collected, for root.
 */
void free_collected(void);

#endif /* PINION_TEST_PINS_H */
