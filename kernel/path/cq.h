/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A completion queue as the data path sees it. Filled by path/complete.c only,
 * always in process context; polled by user space, or by pinion_cq_poll().
 */
#ifndef PINION_PATH_CQ_H
#define PINION_PATH_CQ_H

#include <linux/mutex.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

#include "moderate.h"
#include "ring.h"

struct pinion_node;
struct pinion_raw_cq;
struct pinion_user;

struct pinion_cq {
	struct ib_cq ibcq;
	struct pinion_node *node;
	spinlock_t fill_lock;		/* tail, ring, overflow and moderation */
	struct pinion_ring ring;
	u32 tail;			/* our own copy of hdr->kern_idx */
	bool overflow;			/* in error for good: it takes no more */
	struct work_struct overflowed;	/* breaks its queue pairs; path/overflow.c */
	struct pinion_moderation moderation;
	struct pinion_raw_cq *raw;	/* where completions go instead; NULL: to @ring */
	u32 flags;			/* enum pinion_cq_flags */
	bool user;
	pid_t pid;			/* of who made it; for mem/inject.h */
	struct pinion_user *owner;	/* whom verbs counts it for */
	/* kernel consumers */
	spinlock_t poll_lock;
	u32 head;			/* our own copy of hdr->user_idx */
	/* user space: the mapping of the ring, owned by verbs */
	struct rdma_user_mmap_entry *mmap;
	struct mutex resize_lock;	/* held while its ring is exchanged for @next */
	struct pinion_ring_offer next;
};

static inline struct pinion_cq *to_pinion_cq(struct ib_cq *ibcq)
{
	return container_of(ibcq, struct pinion_cq, ibcq);
}

/* The caller allocates the ring and sets node first, and raw if it is such a queue. */
void pinion_cq_init(struct pinion_cq *cq, bool user, u32 flags);

/* The end: no queue pair is left that completes here. The ring is the caller's. */
void pinion_cq_fini(struct pinion_cq *cq);

/* Have completions been lost? Then every queue pair that completes here has to break. */
static inline bool pinion_cq_is_lost(const struct pinion_cq *cq)
{
	return READ_ONCE(cq->overflow);
}

/*
 * Move what is unpolled to @ring, which becomes the CQ's; the old one is left in
 * *@ring for the caller to free. -EINVAL if it does not fit. The provider holds
 * its own lock, so user_idx stands still. One at a time; sleeps.
 */
int pinion_cq_switch_ring(struct pinion_cq *cq, struct pinion_ring *ring);

/* ops of kernel consumers */
int pinion_cq_poll(struct ib_cq *ibcq, int num_entries, struct ib_wc *wc);
int pinion_cq_req_notify(struct ib_cq *ibcq, enum ib_cq_notify_flags flags);
/* ib_device_ops.modify_cq; see moderate.h. Never fails. */
int pinion_cq_moderate(struct ib_cq *ibcq, u16 count, u16 period_us);

#endif
