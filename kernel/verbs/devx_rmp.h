/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Receive queues of DEVX commands that queue pairs share (mlx5's RMPs): on umems, in mlx5's
 * format, with a number that is good for the context that made them.
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
	struct pinion_devx_name name;	/* its uses are queue pairs */
	struct pinion_devx_events events;
	struct pinion_pd *pd;
};

/* A new one, to be found by nobody yet. Return: an enum pinion_devx_refusal, or an errno. */
int pinion_devx_rmp_make(struct pinion_dev *dev, struct ib_ucontext *context,
			 const struct pinion_devx_rmp *asked, struct pinion_devx_pool **made);
/* -EBUSY, and nothing happened, while a queue pair receives there. */
int pinion_devx_rmp_end(struct pinion_dev *dev, struct pinion_ucontext *ucontext,
			struct pinion_devx_pool *pool);

/* Return: an enum pinion_devx_refusal. */
int pinion_devx_rmp_change(struct pinion_devx_pool *pool,
			   const struct pinion_devx_rmp_change *change);
void pinion_devx_rmp_tell(struct pinion_devx_pool *pool, u8 *out);

/* The one of @owner's with this number, in use from here on; or NULL. */
struct pinion_devx_pool *pinion_devx_rmp_use(struct pinion_dev *dev, u32 number,
					     const void *owner);
void pinion_devx_rmp_unuse(struct pinion_dev *dev, struct pinion_devx_pool *pool);

#endif
