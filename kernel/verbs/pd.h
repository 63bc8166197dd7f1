/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Protection domains, and the numbers (pdn) by which DEVX commands name them.
 */
#ifndef PINION_VERBS_PD_H
#define PINION_VERBS_PD_H

#include <rdma/ib_verbs.h>

struct pinion_dev;
struct pinion_user;

struct pinion_pd {
	struct ib_pd ibpd;
	u32 pdn;
	struct pinion_user *user;	/* whose limit it counts against; NULL: the kernel */
	const void *owner;		/* the context whose commands may name it, if any may */
};

static inline struct pinion_pd *to_pinion_pd(struct ib_pd *ibpd)
{
	return container_of(ibpd, struct pinion_pd, ibpd);
}

/* Count @pd against @user's limit and give it a number. Commands cannot name it yet. */
int pinion_pd_number(struct pinion_dev *dev, struct pinion_pd *pd,
		     struct pinion_user *user);

/* Let DEVX commands of @owner name @pd. -ENOMEM; once it has succeeded it cannot fail again. */
int pinion_pd_show(struct pinion_dev *dev, struct pinion_pd *pd, const void *owner);

/* Free the number and count @pd out. -EBUSY if an object uses @pd; then nothing has changed. */
int pinion_pd_end(struct pinion_dev *dev, struct pinion_pd *pd);

/*
 * Find the domain @pdn of @owner and take a use count, which pinion_pd_unuse() drops. NULL if
 * there is none.
 */
struct pinion_pd *pinion_pd_use(struct pinion_dev *dev, u32 pdn, const void *owner);

static inline void pinion_pd_unuse(struct pinion_pd *pd)
{
	atomic_dec(&pd->ibpd.usecnt);
}

#endif
