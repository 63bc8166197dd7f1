/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Shared receive queues created by DEVX commands (RMPs of mlx5): in umems, in mlx5's format. Only
 * commands of the context that created a queue find it by its number.
 */
#ifndef PINION_VERBS_DEVX_RMP_H
#define PINION_VERBS_DEVX_RMP_H

#include "../logic/devx_queue.h"
#include "../path/raw_qp.h"
#include "../path/recvq.h"
#include "device.h"
#include "devx_event.h"
#include "devx_name.h"
#include "pd.h"

struct pinion_devx_pool {
	struct pinion_srq srq;
	struct pinion_raw_rq raw;
	struct pinion_view ring;
	struct pinion_view record;
	struct pinion_devx_rmp asked;
	struct pinion_devx_name name;	/* each user of it is a queue pair */
	struct pinion_devx_events events;
	struct pinion_pd *pd;
};

/* Create a queue; no command can find it yet. Return: 0, a pinion_devx_refusal or an errno. */
int pinion_devx_rmp_make(struct pinion_dev *dev, struct ib_ucontext *context,
			 const struct pinion_devx_rmp *asked, struct pinion_devx_pool **made);
/* Destroy @pool. Return: -EBUSY without any effect while a queue pair uses it, else 0. */
int pinion_devx_rmp_end(struct pinion_dev *dev, struct pinion_ucontext *ucontext,
			struct pinion_devx_pool *pool);

/* Return: an enum pinion_devx_refusal. */
int pinion_devx_rmp_change(struct pinion_devx_pool *pool,
			   const struct pinion_devx_rmp_change *change);
void pinion_devx_rmp_tell(struct pinion_devx_pool *pool, u8 *out);

/*
 * Find the queue @number of @owner; NULL if there is none. It cannot be destroyed until
 * pinion_devx_rmp_unuse().
 */
struct pinion_devx_pool *pinion_devx_rmp_use(struct pinion_dev *dev, u32 number,
					     const void *owner);
void pinion_devx_rmp_unuse(struct pinion_dev *dev, struct pinion_devx_pool *pool);

#endif
