// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What is present of an on-demand region, for debugfs and netlink. Changes nothing and takes no
 * lock: pages come and go meanwhile, so the answer is a moment old.
 */
#include <linux/sched.h>

#include "look.h"
#include "odp.h"

#define ENTRY_BITS	(PINION_ODP_PRESENT | PINION_ODP_WRITABLE)

static u64 look_block_address(const struct pinion_child *child, u32 block)
{
	return child->start + ((u64)block << child->odp->shift);
}

/* The end of the run from @first on: contiguous in memory, with the same access bits. */
static u32 look_run_end(const struct pinion_child *child, u32 first, u64 entry)
{
	u32 block = first;

	/* Addition leaves the access bits alone, so the comparison covers them. */
	while (++block < child->num_blocks &&
	       READ_ONCE(child->table[block]) ==
		       entry + ((u64)(block - first) << child->odp->shift))
		;
	return block;
}

int pinion_odp_look_run(struct pinion_odp *odp, u64 offset, struct pinion_run *run)
{
	u64 address = odp->start + offset, at, entry = 0;
	struct pinion_child *child;
	u32 block;

	child = pinion_child_from(odp, address);
	if (!child)
		return -ENOENT;
	at = max(address, child->start);
	for (block = (at - child->start) >> odp->shift; block < child->num_blocks; block++) {
		entry = READ_ONCE(child->table[block]);
		if (entry & PINION_ODP_PRESENT)
			break;
	}
	at = max(at, look_block_address(child, block));
	run->offset = at - odp->start;
	if (block == child->num_blocks)
		return -EAGAIN;
	run->addr = (entry & ~ENTRY_BITS) + (at - look_block_address(child, block));
	run->writable = entry & PINION_ODP_WRITABLE;
	block = look_run_end(child, block, entry);
	run->length = look_block_address(child, block) - at;
	return 0;
}

void pinion_odp_look(struct pinion_odp *odp, u64 *present, u64 *bytes)
{
	struct pinion_child *child;
	unsigned long index;

	*present = 0;
	*bytes = 0;
	rcu_read_lock();
	xa_for_each(&odp->children, index, child) {
		*present += READ_ONCE(child->present);
		*bytes += sizeof(*child) + child->num_blocks * sizeof(*child->table);
		/* The walk goes on by index, so RCU may be left between two children. */
		if (need_resched()) {
			rcu_read_unlock();
			cond_resched();
			rcu_read_lock();
		}
	}
	rcu_read_unlock();
}
