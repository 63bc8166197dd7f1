/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Persistent memory: which memory is, and how stores get there from the caches.
 */
#ifndef PINION_MEM_PERSIST_H
#define PINION_MEM_PERSIST_H

#include <linux/types.h>

struct pinion_mtt;

/* Can caches be written back here at all? If not, the device has no FLUSH to persistence. */
bool pinion_persist_possible(void);

/*
 * May a region have the right IB_ACCESS_FLUSH_PERSISTENT? Of memory that is pinned, @mtt says
 * where it is. Of memory on demand, the process's mappings must be of persistent memory in all
 * of the range, and such that a file's blocks are in the file for good when they are written
 * (MAP_SYNC). Both look at what is there now: a flush asks again of each run. May sleep.
 *
 * Return: 0, -EINVAL if not, or -EINTR.
 */
int pinion_persist_check_table(const struct pinion_mtt *mtt, u64 length);
int pinion_persist_check_range(u64 start, u64 length);

/*
 * Write the caches of a run back. What was stored before is persistent after the next
 * pinion_persist_barrier(). Inside the gate of a key.
 *
 * Return: false, and nothing was done, if this is not persistent memory.
 */
bool pinion_persist_run(void *kva, u64 length);
void pinion_persist_barrier(void);

#endif
