/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Doorbells in doorbell pages, for queue pairs that have no doorbell record for their sends.
 */
#ifndef PINION_VERBS_DEVX_UAR_H
#define PINION_VERBS_DEVX_UAR_H

#include <linux/types.h>

struct pinion_dev;
struct pinion_devx_name;

struct pinion_devx_bell {
	struct pinion_devx_name *page;	/* holds a use count; NULL: none */
	__be64 *at;			/* the doorbell, to which the program stores */
};

/*
 * Use the doorbell of page @number of @owner, which cannot be destroyed meanwhile. Return: false if
 * there is no such page, or another queue pair uses it: one would overwrite the other's doorbell.
 */
bool pinion_devx_bell_use(struct pinion_dev *dev, u32 number, const void *owner,
			  struct pinion_devx_bell *bell);
void pinion_devx_bell_unuse(struct pinion_dev *dev, struct pinion_devx_bell *bell);

#endif
