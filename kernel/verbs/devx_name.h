/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Numbers of objects that DEVX commands have created. Other commands of the same context name an
 * object by its number, and hold a use count, which keeps it from being destroyed.
 */
#ifndef PINION_VERBS_DEVX_NAME_H
#define PINION_VERBS_DEVX_NAME_H

#include <linux/xarray.h>

struct pinion_devx_name {
	const void *owner;		/* the context; NULL before pinion_devx_name_show() */
	u32 number;
	unsigned int uses;		/* protected by the table's xa_lock, like @owner */
};

/* Reserve a number from 1 to @max; it cannot be found yet. Return: 0 or -ENOMEM. */
int pinion_devx_name_take(struct xarray *table, u32 max, struct pinion_devx_name *name);
/* Let commands of @owner find it. Cannot fail. */
void pinion_devx_name_show(struct xarray *table, struct pinion_devx_name *name,
			   const void *owner);
/* Free the number. -EBUSY while it is in use; then nothing has changed. */
int pinion_devx_name_end(struct xarray *table, struct pinion_devx_name *name);

/* Find a number of @owner and take a use count; NULL if there is none. */
struct pinion_devx_name *pinion_devx_name_use(struct xarray *table, u32 number,
					      const void *owner);
/* As pinion_devx_name_use(), but NULL also if the number is in use already. */
struct pinion_devx_name *pinion_devx_name_use_alone(struct xarray *table, u32 number,
						    const void *owner);
void pinion_devx_name_unuse(struct xarray *table, struct pinion_devx_name *name);

#endif
