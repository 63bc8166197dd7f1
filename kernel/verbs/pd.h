/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Protection domains with the numbers that DEVX commands know them by.
 */
#ifndef PINION_VERBS_PD_H
#define PINION_VERBS_PD_H

#include <rdma/ib_verbs.h>

struct pinion_dev;
struct pinion_user;

struct pinion_pd {
	struct ib_pd ibpd;
	u32 pdn;
	struct pinion_user *user;	/* whom it is counted for */
	const void *owner;		/* the context that may name it; once it is shown */
};

static inline struct pinion_pd *to_pinion_pd(struct ib_pd *ibpd)
{
	return container_of(ibpd, struct pinion_pd, ibpd);
}

/* Count it in and number it, which means nothing to commands yet. */
int pinion_pd_number(struct pinion_dev *dev, struct pinion_pd *pd,
		     struct pinion_user *user);

/* Let commands of @owner name it. Fails, with -ENOMEM, the first time or never. */
int pinion_pd_show(struct pinion_dev *dev, struct pinion_pd *pd, const void *owner);

/* Take back the number and count it out. -EBUSY, and nothing happened: something is in it. */
int pinion_pd_end(struct pinion_dev *dev, struct pinion_pd *pd);

/* Find one of @owner's, for something to be in it; NULL if there is none. */
struct pinion_pd *pinion_pd_use(struct pinion_dev *dev, u32 pdn, const void *owner);

static inline void pinion_pd_unuse(struct pinion_pd *pd)
{
	atomic_dec(&pd->ibpd.usecnt);
}

#endif
