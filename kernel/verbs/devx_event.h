/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Who wants to know of what happens to the queues of DEVX commands: channels, which are files, of
 * the same context.
 */
#ifndef PINION_VERBS_DEVX_EVENT_H
#define PINION_VERBS_DEVX_EVENT_H

#include <linux/spinlock.h>
#include <rdma/ib_verbs.h>

#include "../logic/mlx5_eqe.h"

struct pinion_ucontext;

/* Of one queue. */
struct pinion_devx_events {
	enum pinion_mlx5_event_of of;
	u32 number;			/* of the queue */
	spinlock_t lock;		/* of the rest; in any context */
	struct list_head subscriptions;
	u32 count;
};

void pinion_devx_events_init(struct pinion_devx_events *events, enum pinion_mlx5_event_of of,
			     u32 number);
/* The queue is over, and nothing happens to it any more: what was not read yet is forgotten. */
void pinion_devx_events_end(struct pinion_devx_events *events, struct pinion_ucontext *ucontext);

/* Handlers of a queue whose context is a struct pinion_devx_events. */
void pinion_devx_happened(struct ib_event *event, void *events);
void pinion_devx_completed(struct ib_cq *cq, void *events);

#endif
