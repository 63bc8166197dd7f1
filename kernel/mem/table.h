/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Tables of objects by number.
 */
#ifndef PINION_MEM_TABLE_H
#define PINION_MEM_TABLE_H

#include <linux/xarray.h>

/*
 * Has @table no entry, not even a reserved one? xa_empty() may deny that: where an allocation has
 * failed half way, a node without entries can be left, or with number 0, which XA_FLAGS_ALLOC1
 * reserves. xa_find() would pass over all that are reserved. The table is about to be destroyed, so
 * nobody changes it.
 */
static inline bool pinion_table_is_empty(struct xarray *table)
{
	XA_STATE(xas, table, 0);
	void *entry;

	rcu_read_lock();
	entry = xas_find(&xas, ULONG_MAX);
	if (xa_is_zero(entry) && !xas.xa_index)
		entry = xas_find(&xas, ULONG_MAX);
	rcu_read_unlock();
	return !entry;
}

#endif /* PINION_MEM_TABLE_H */
