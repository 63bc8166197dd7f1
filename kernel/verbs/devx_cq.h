/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Completion queues created by DEVX commands: in umems, in mlx5's format. Only commands of the
 * context that created a queue find it by its number.
 */
#ifndef PINION_VERBS_DEVX_CQ_H
#define PINION_VERBS_DEVX_CQ_H

#include "../logic/devx_queue.h"
#include "../path/cq.h"
#include "../path/raw_cq.h"
#include "device.h"
#include "devx_event.h"
#include "devx_name.h"

struct pinion_devx_queue {
	struct pinion_cq cq;
	struct pinion_raw_cq raw;
	struct pinion_devx_cq asked;
	struct pinion_devx_name name;	/* each user of it is a queue pair */
	struct pinion_devx_events events;
};

/* Create a queue; no command can find it yet. Return: 0, a pinion_devx_refusal or an errno. */
int pinion_devx_cq_make(struct pinion_dev *dev, struct pinion_user *user, const void *owner,
			const struct pinion_devx_cq *asked, struct pinion_devx_queue **made);
/* Destroy @queue. Return: -EBUSY without any effect while a queue pair uses it, else 0. */
int pinion_devx_cq_end(struct pinion_dev *dev, struct pinion_ucontext *ucontext,
		       struct pinion_devx_queue *queue);
/* From here on, completions that the program has armed for raise events. Takes events_lock. */
void pinion_devx_cq_listen(struct pinion_devx_queue *queue, struct pinion_ucontext *ucontext);

void pinion_devx_cq_change(struct pinion_devx_queue *queue,
			   const struct pinion_devx_cq_change *change);
void pinion_devx_cq_tell(struct pinion_devx_queue *queue, u8 *out);

/*
 * Find the queue @number of @owner; NULL if there is none. It cannot be destroyed until
 * pinion_devx_cq_unuse().
 */
struct pinion_devx_queue *pinion_devx_cq_use(struct pinion_dev *dev, u32 number,
					     const void *owner);
void pinion_devx_cq_unuse(struct pinion_dev *dev, struct pinion_devx_queue *queue);

/*
 * Map a part of a umem of @owner for a queue. On success @view keeps the umem in use. Return: 0, an
 * enum pinion_devx_refusal, or a negative errno.
 */
int pinion_devx_view(struct pinion_dev *dev, const void *owner, struct pinion_view *view,
		     const struct pinion_devx_place *place, u64 length, u32 align,
		     enum pinion_view_use use);

#endif
