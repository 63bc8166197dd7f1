/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Queues of receive requests: the one of a QP, and shared receive queues.
 */
#ifndef PINION_PATH_RECVQ_H
#define PINION_PATH_RECVQ_H

#include <linux/mutex.h>
#include <rdma/ib_verbs.h>

#include "../mem/users.h"
#include "ring.h"

struct pinion_raw_rq;
struct pinion_sleepers;

struct pinion_recvq {
	spinlock_t lock;		/* protects @head and @ring; process context only */
	spinlock_t post_lock;		/* for posting by kernel consumers, in any context */
	struct pinion_ring ring;
	u32 head;			/* private copy of hdr->kern_idx */
	u32 tail;			/* kernel consumers: private copy of hdr->user_idx */
	u32 max_sge;
	struct pinion_raw_rq *raw;	/* a queue in mlx5's format is used instead; or NULL */
};

/* A private, validated copy of one receive request. */
struct pinion_recv {
	u64 wr_id;
	u32 num_sge;
	u64 length;			/* sum of the sges */
	struct pinion_sge sge[];	/* PINION_MAX_SGE */
};

/* How many sges fit into a slot of @stride bytes; may be more than were asked for. */
static inline u32 pinion_recvq_sges(u32 stride)
{
	u32 room = (stride - sizeof(struct pinion_rq_wqe)) / sizeof(struct pinion_sge);

	return min_t(u32, room, PINION_MAX_SGE);
}

/* The caller allocates the ring first, with pinion_rq_stride(). */
void pinion_recvq_init(struct pinion_recvq *rq, u32 max_sge);

/*
 * Take the oldest request. Return: 0; -ENOENT if there is none; -EINVAL if it is malformed (it is
 * taken all the same, and @recv->wr_id is valid); -EBADMSG if the index of a raw queue is
 * impossible.
 */
int pinion_recvq_take(struct pinion_recvq *rq, struct pinion_recv *recv);

/* How many requests wait; 0 if the index that user space has written is impossible. */
u32 pinion_recvq_count(struct pinion_recvq *rq);

/* Tell whether posting must ring the doorbell. Not for shared queues. */
void pinion_recvq_set_need_doorbell(struct pinion_recvq *rq, bool need);

/* Drop all requests: the QP is reset. */
void pinion_recvq_reset(struct pinion_recvq *rq);

/* Move waiting requests to @ring and use that; see pinion_cq_switch_ring(). */
int pinion_recvq_switch_ring(struct pinion_recvq *rq, struct pinion_ring *ring);

/* Post requests of a kernel consumer. Any context. */
int pinion_recvq_post(struct pinion_recvq *rq, const struct ib_recv_wr *wr,
		      const struct ib_recv_wr **bad_wr);

/* ------------------------------------------------------ shared receive queue */

struct pinion_srq {
	struct ib_srq ibsrq;
	struct pinion_node *node;
	struct pinion_sleepers *faulter;	/* that of the context it belongs to */
	struct pinion_recvq rq;
	u32 srqn;
	struct pinion_users finders;	/* by number (XRC); see path/node.h */
	u32 limit;			/* 0: disarmed; under rq.lock */
	bool user;
	struct pinion_user *owner;	/* for limits, used by verbs */
	struct pinion_resize resize;	/* user space */
};

static inline struct pinion_srq *to_pinion_srq(struct ib_srq *ibsrq)
{
	return container_of(ibsrq, struct pinion_srq, ibsrq);
}

/* As pinion_recvq_take(); raises the limit event when fewer than the limit are left. */
int pinion_srq_take(struct pinion_srq *srq, struct pinion_recv *recv);

/* Arm the limit event; 0 disarms it. -EINVAL if @limit is above the queue's size. */
int pinion_srq_set_limit(struct pinion_srq *srq, u32 limit);

int pinion_post_srq_recv(struct ib_srq *ibsrq, const struct ib_recv_wr *wr,
			 const struct ib_recv_wr **bad_wr);

#endif
