/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Persistent memory: which memory is persistent, and writing it back from the CPU's caches.
 */
#ifndef PINION_MEM_PERSIST_H
#define PINION_MEM_PERSIST_H

#include <linux/types.h>

#include "../logic/range.h"

struct pinion_mtt;

/* Can this architecture write caches back? If not, the device has no FLUSH to persistence. */
bool pinion_persist_possible(void);

/*
 * May a region have the right IB_ACCESS_FLUSH_PERSISTENT? pinion_persist_check_table() checks
 * pinned memory, of which @mtt is the table. pinion_persist_check_range() is for memory on demand:
 * all mappings of the current process in the range must be of persistent memory, with MAP_SYNC if
 * they are of files, so that a block that was faulted for writing belongs to the file for good.
 * Both check the present state only; a FLUSH checks each run again. May sleep.
 *
 * Return: 0; -EINVAL if it may not; or -EINTR.
 */
int pinion_persist_check_table(const struct pinion_mtt *mtt, u64 length);
int pinion_persist_check_range(u64 start, u64 length);

/* Memory that is known to be persistent. Length 0: none. */
struct pinion_persistent {
	const void *start;
	u64 length;
};

/*
 * Ask whether all of a run is persistent memory. If so, @known holds it, and maybe what is around
 * it. Takes a lock of the kernel's, which sleeps with PREEMPT_RT: the caller is in no gate.
 */
bool pinion_persist_ask(struct pinion_persistent *known, const void *kva, u64 length);

static inline bool pinion_persist_knows(const struct pinion_persistent *known, const void *kva,
					u64 length)
{
	return pinion_range_holds((uintptr_t)known->start, known->length, (uintptr_t)kva, length);
}

/*
 * Write a run of persistent memory back from the caches. Earlier stores to it are persistent after
 * the next pinion_persist_barrier(). The caller is inside the key's gate.
 */
void pinion_persist_run(void *kva, u64 length);
void pinion_persist_barrier(void);

#endif
