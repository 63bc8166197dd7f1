/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The queues of a queue pair in mlx5's format, in memory of its user, who says in a doorbell
 * record how far he has posted. All of it may change at any time: it is copied, then looked at.
 *
 * Sends become requests of our own kind, in a ring that nobody else sees, from which the
 * executor takes them as any other. Receives are copied when a message takes one.
 */
#ifndef PINION_PATH_RAW_QP_H
#define PINION_PATH_RAW_QP_H

#include <linux/list.h>

#include "../logic/mlx5_wqe.h"
#include "../mem/umem.h"
#include "node.h"

struct pinion_bells;
struct pinion_qp;
struct pinion_recv;

/* So many sends are copied before they are performed. */
#define PINION_RAW_SENDS	16

/* Under sq.exec, but for bell.c, which looks at @next from without; likewise below. */
struct pinion_raw_sq {
	const u8 *blocks;
	const __be32 *record;
	__be64 *bell;		/* where it is rung instead; or NULL */
	u32 size;		/* a power of two */
	u16 next;		/* the first block of the next request */
	struct pinion_av avs[PINION_RAW_SENDS];	/* of datagrams in the ring, each in its slot */
	u8 copy[PINION_MLX5_MAX_BLOCKS * PINION_MLX5_BLOCK];
};

/* Under the lock of its struct pinion_recvq. */
struct pinion_raw_rq {
	const u8 *slots;
	const __be32 *record;
	u32 entries;		/* a power of two, or 0 */
	u32 num_sge;		/* of each */
	u32 user_index;		/* of a shared one: each message's queue pair has its own */
	u16 next;
	bool linked;		/* each says which slot is the next; else it is the one behind */
	u16 slot;		/* of the next, then */
};

struct pinion_raw_qp {
	struct pinion_qp *qp;
	struct pinion_view ring;	/* receives, then sends */
	struct pinion_view record;
	struct pinion_raw_sq sq;
	struct pinion_raw_rq rq;
	u32 user_index;
	struct pinion_bells *bells;	/* who looks for it, from when it is made */
	struct list_head list;		/* bell.c's, as the next one */
	u64 seen;
	u64 seen_bell;
};

/*
 * Into the queue pair's own ring, as far as there is room. Return: false if the record cannot be
 * believed, and nothing happened. sq.exec is held.
 */
bool pinion_raw_sq_pull(struct pinion_qp *qp);
/* It is reset: what was rung before is forgotten. Likewise. */
void pinion_raw_sq_forget(struct pinion_qp *qp);
/*
 * Is more posted than was pulled? Can it be believed? Is there room for it? Also for who asks from
 * without: it may have changed then.
 */
bool pinion_raw_sq_has_more(const struct pinion_qp *qp);
bool pinion_raw_sq_is_sane(const struct pinion_qp *qp);
bool pinion_raw_sq_has_room(const struct pinion_qp *qp);
/* How far it has come, to be compared with what it said before. */
u64 pinion_raw_sq_progress(const struct pinion_qp *qp);

/* How far its user is, and we are: for who only looks. Under sq.exec or not; and the same below. */
void pinion_raw_sq_look(const struct pinion_qp *qp, struct pinion_ring_facts *facts);
void pinion_raw_rq_look(const struct pinion_raw_rq *raw, struct pinion_ring_facts *facts);

/* As pinion_recvq_take() and pinion_recvq_count(). */
int pinion_raw_rq_take(struct pinion_raw_rq *raw, struct pinion_recv *recv);
u32 pinion_raw_rq_count(const struct pinion_raw_rq *raw);

#endif
