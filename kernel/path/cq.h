/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A completion queue as the data path sees it. path/complete.c writes completions, always in
 * process context; user space or pinion_cq_poll() polls them.
 */
#ifndef PINION_PATH_CQ_H
#define PINION_PATH_CQ_H

#include <linux/mutex.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

#include "hold.h"
#include "moderate.h"
#include "ring.h"

struct pinion_node;
struct pinion_raw_cq;
struct pinion_raw_ring;
struct pinion_user;

struct pinion_cq {
	struct ib_cq ibcq;
	struct pinion_node *node;
	spinlock_t fill_lock;		/* protects @tail, @ring, @overflow, @moderation, @hold */
	struct pinion_ring ring;
	u32 tail;			/* private copy of hdr->kern_idx */
	bool overflow;			/* a completion was lost: takes no more, for good */
	struct work_struct overflowed;	/* breaks its queue pairs; path/overflow.c */
	struct mutex qps_lock;	/* senders and receivers */
	struct list_head senders;	/* queue pairs whose sends complete here; overflow.c's */
	struct list_head receivers;	/* likewise of receives */
	struct pinion_moderation moderation;
	struct pinion_hold hold;	/* completions held back by order */
	struct pinion_raw_cq *raw;	/* a queue in mlx5's format is used instead; or NULL */
	u32 flags;			/* enum pinion_cq_flags */
	bool user;
	pid_t pid;			/* of the process that created it; for mem/inject.h */
	struct pinion_user *owner;	/* for limits, used by verbs */
	/* kernel consumers */
	spinlock_t poll_lock;		/* protects @head; taken in any context */
	u32 head;			/* private copy of hdr->user_idx */
	struct pinion_resize resize;	/* user space */
};

static inline struct pinion_cq *to_pinion_cq(struct ib_cq *ibcq)
{
	return container_of(ibcq, struct pinion_cq, ibcq);
}

/* The caller sets node and the ring before, or raw for a queue in mlx5's format. */
void pinion_cq_init(struct pinion_cq *cq, bool user, u32 flags);

/* Destroy: no queue pair that completes here is left. The caller frees the ring. Sleeps. */
void pinion_cq_fini(struct pinion_cq *cq);

/* Was a completion lost? Then every queue pair that completes here must break. */
static inline bool pinion_cq_is_lost(const struct pinion_cq *cq)
{
	return READ_ONCE(cq->overflow);
}

/*
 * Copy completions that were not polled to @ring and use that; on return *@ring is the old ring,
 * which the caller frees. -EINVAL if they do not fit. The provider holds its own lock, so that
 * user_idx does not change meanwhile. @cq->resize.lock is held; sleeps.
 */
int pinion_cq_switch_ring(struct pinion_cq *cq, struct pinion_ring *ring);

/* Likewise of a queue in its user's memory, who moves what is in there himself. */
int pinion_cq_exchange_raw(struct pinion_cq *cq, struct pinion_raw_ring *ring);

/* Ops of kernel consumers, any context. */
int pinion_cq_poll(struct ib_cq *ibcq, int num_entries, struct ib_wc *wc);
int pinion_cq_req_notify(struct ib_cq *ibcq, enum ib_cq_notify_flags flags);
/* ib_device_ops.modify_cq; see moderate.h. Never fails. */
int pinion_cq_moderate(struct ib_cq *ibcq, u16 count, u16 period_us);

#endif
