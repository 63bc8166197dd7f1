/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Events of queues that DEVX commands have created. They are delivered to channels (files) of the
 * same context that have subscribed to them.
 */
#ifndef PINION_VERBS_DEVX_EVENT_H
#define PINION_VERBS_DEVX_EVENT_H

#include <linux/spinlock.h>
#include <rdma/ib_verbs.h>

#include "../logic/mlx5_eqe.h"

struct pinion_ucontext;

/* The subscriptions to events of one queue. */
struct pinion_devx_events {
	enum pinion_mlx5_event_of of;
	u32 number;			/* of the queue */
	spinlock_t lock;		/* protects the fields below; taken in any context */
	struct list_head subscriptions;
	u32 count;
};

void pinion_devx_events_init(struct pinion_devx_events *events, enum pinion_mlx5_event_of of,
			     u32 number);
/* End all subscriptions and drop unread events. The queue can raise no event any more. */
void pinion_devx_events_end(struct pinion_devx_events *events, struct pinion_ucontext *ucontext);

/* Event handlers for queues; @events is the queue's struct pinion_devx_events. Any context. */
void pinion_devx_happened(struct ib_event *event, void *events);
void pinion_devx_completed(struct ib_cq *cq, void *events);

#endif
