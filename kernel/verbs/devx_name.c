// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Assigns numbers to objects of DEVX commands, and finds objects by number.
 */
#include "devx_name.h"

int pinion_devx_name_take(struct xarray *table, u32 max, struct pinion_devx_name *name)
{
	int err;

	err = xa_alloc(table, &name->number, NULL, XA_LIMIT(1, max), GFP_KERNEL_ACCOUNT);
	return err == -EBUSY ? -ENOMEM : err;
}

void pinion_devx_name_show(struct xarray *table, struct pinion_devx_name *name,
			   const void *owner)
{
	name->owner = owner;
	/* The entry is reserved, so this allocates nothing and cannot fail. */
	xa_store(table, name->number, name, GFP_NOWAIT);
}

int pinion_devx_name_end(struct xarray *table, struct pinion_devx_name *name)
{
	bool busy;

	xa_lock(table);
	busy = name->uses;
	if (!busy)
		__xa_erase(table, name->number);
	xa_unlock(table);
	return busy ? -EBUSY : 0;
}

/* NULL also if it has more than @others uses already. */
static struct pinion_devx_name *devx_name_use(struct xarray *table, u32 number, const void *owner,
					      unsigned int others)
{
	struct pinion_devx_name *name;

	xa_lock(table);
	name = xa_load(table, number);
	if (name && (name->owner != owner || name->uses > others))
		name = NULL;
	if (name)
		name->uses++;
	xa_unlock(table);
	return name;
}

struct pinion_devx_name *pinion_devx_name_use(struct xarray *table, u32 number,
					      const void *owner)
{
	return devx_name_use(table, number, owner, UINT_MAX);
}

struct pinion_devx_name *pinion_devx_name_use_alone(struct xarray *table, u32 number,
						    const void *owner)
{
	return devx_name_use(table, number, owner, 0);
}

void pinion_devx_name_unuse(struct xarray *table, struct pinion_devx_name *name)
{
	xa_lock(table);
	name->uses--;
	xa_unlock(table);
}
