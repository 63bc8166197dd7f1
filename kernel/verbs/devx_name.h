/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The number of what a DEVX command made, by which other commands of the same context name it.
 * What is in use cannot end.
 */
#ifndef PINION_VERBS_DEVX_NAME_H
#define PINION_VERBS_DEVX_NAME_H

#include <linux/xarray.h>

struct pinion_devx_name {
	const void *owner;		/* the context; NULL until it is shown */
	u32 number;
	unsigned int uses;		/* under the lock of its table, as @owner */
};

/* A number from 1 to @max that leads to nothing yet. Return: 0 or -ENOMEM. */
int pinion_devx_name_take(struct xarray *table, u32 max, struct pinion_devx_name *name);
/* From here on it is found. Never fails. */
void pinion_devx_name_show(struct xarray *table, struct pinion_devx_name *name,
			   const void *owner);
/* -EBUSY, and nothing happened, while it is in use. */
int pinion_devx_name_end(struct xarray *table, struct pinion_devx_name *name);

/* The one of @owner's with this number, in use from here on; or NULL. */
struct pinion_devx_name *pinion_devx_name_use(struct xarray *table, u32 number,
					      const void *owner);
/* Likewise, if nobody else uses it. */
struct pinion_devx_name *pinion_devx_name_use_alone(struct xarray *table, u32 number,
						    const void *owner);
void pinion_devx_name_unuse(struct xarray *table, struct pinion_devx_name *name);

#endif
