/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Completion queues that DEVX commands make: on umems, in mlx5's format, with a number that is
 * good for the context that made them.
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
	struct pinion_devx_name name;	/* its uses are queue pairs */
	struct pinion_devx_events events;
};

/* A new one, to be found by nobody yet. Return: an enum pinion_devx_refusal, or an errno. */
int pinion_devx_cq_make(struct pinion_dev *dev, struct pinion_user *user, const void *owner,
			const struct pinion_devx_cq *asked, struct pinion_devx_queue **made);
/* -EBUSY, and nothing happened, while a queue pair completes there. */
int pinion_devx_cq_end(struct pinion_dev *dev, struct pinion_ucontext *ucontext,
		       struct pinion_devx_queue *queue);
/* From here on its user is told of completions that he waits for. */
void pinion_devx_cq_listen(struct pinion_devx_queue *queue, struct pinion_ucontext *ucontext);

void pinion_devx_cq_change(struct pinion_devx_queue *queue,
			   const struct pinion_devx_cq_change *change);
void pinion_devx_cq_tell(struct pinion_devx_queue *queue, u8 *out);

/* The one of @owner's with this number, in use from here on; or NULL. */
struct pinion_devx_queue *pinion_devx_cq_use(struct pinion_dev *dev, u32 number,
					     const void *owner);
void pinion_devx_cq_unuse(struct pinion_dev *dev, struct pinion_devx_queue *queue);

/* How umems are refused for queues; the view keeps its umem in use. */
int pinion_devx_view(struct pinion_dev *dev, const void *owner, struct pinion_view *view,
		     const struct pinion_devx_place *place, u64 length, u32 align);

#endif
