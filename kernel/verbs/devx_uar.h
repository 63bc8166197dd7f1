/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Doorbell pages that are heard: of queue pairs that have no record for their sends.
 */
#ifndef PINION_VERBS_DEVX_UAR_H
#define PINION_VERBS_DEVX_UAR_H

#include <linux/types.h>

struct pinion_dev;
struct pinion_devx_name;

struct pinion_devx_bell {
	struct pinion_devx_name *page;	/* NULL: there is none */
	__be64 *at;			/* what its user stored last */
};

/*
 * That of the page of @owner's with this number, which cannot end from then on. Return: false if
 * there is none, or it is another's already: nobody would know of a doorbell that is overwritten.
 */
bool pinion_devx_bell_use(struct pinion_dev *dev, u32 number, const void *owner,
			  struct pinion_devx_bell *bell);
void pinion_devx_bell_unuse(struct pinion_dev *dev, struct pinion_devx_bell *bell);

#endif
