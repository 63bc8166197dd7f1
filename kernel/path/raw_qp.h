/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The queues of a raw queue pair: in mlx5's format, in memory of the program, which writes to a
 * doorbell record how far it has posted. The program may change all of it at any time, so requests
 * are copied first, then checked.
 *
 * Sends are converted to our format and put into a private ring, from which the executor takes
 * them like any other. Receives are copied when a message takes one.
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

/* Slots of the private ring: sends that were converted and not yet performed. */
#define PINION_RAW_SENDS	16
/* Inline bytes of such a copy: the ranges of a layout are the longest. */
#define PINION_RAW_INLINE	(PINION_MLX5_MAX_RANGES * sizeof(struct pinion_wqe_range))

/* Protected by sq.exec; bell.c and look.c read @next without it. */
struct pinion_raw_sq {
	const u8 *blocks;
	const __be32 *record;
	__be64 *bell;		/* doorbell that is used instead of @record; or NULL */
	u32 size;		/* of the queue in blocks; a power of two */
	u16 next;		/* counts blocks: the first of the next request */
	bool gone;		/* being destroyed: do not read the record; under sq.post_lock */
	struct pinion_av avs[PINION_RAW_SENDS];	/* addresses of datagrams, by ring slot */
	u8 copy[PINION_MLX5_MAX_BLOCKS * PINION_MLX5_BLOCK];
};

/* Protected by the lock of the struct pinion_recvq; bell.c reads @next without it. */
struct pinion_raw_rq {
	const u8 *slots;
	const __be32 *record;
	u32 entries;		/* a power of two, or 0 */
	u32 num_sge;		/* sges per slot */
	u32 user_index;		/* for completions; a shared queue takes the queue pair's */
	u16 next;		/* counts requests: the next to be taken */
	bool gone;		/* being destroyed: do not read the record */
	bool shared;		/* slots begin with a link to the next one, */
	bool linked;		/* which says which slot is next; else they are in order */
	u16 slot;		/* if @linked: the slot of the next request */
};

struct pinion_raw_qp {
	struct pinion_qp *qp;
	struct pinion_view ring;	/* receives, then sends */
	struct pinion_view record;
	struct pinion_raw_sq sq;
	struct pinion_raw_rq rq;
	u32 user_index;
	struct pinion_bells *bells;	/* polls it; set on creation */
	/* These are used by bell.c, under bells->lock. */
	struct list_head list;
	u64 seen;			/* the record when it was last read */
	u64 seen_bell;			/* *sq.bell when it was last read */
};

/*
 * Convert posted sends to the private ring, as far as there is room. Return: false if the record's
 * index is impossible; then nothing was done. sq.exec is held.
 */
bool pinion_raw_sq_pull(struct pinion_qp *qp);
/* On reset: forget what was posted. sq.exec is held. */
void pinion_raw_sq_forget(struct pinion_qp *qp);
/*
 * Was more posted than was converted? Is the posted index possible? Is there room in the private
 * ring? May be called without sq.exec; the answer may be old then.
 */
bool pinion_raw_sq_has_more(const struct pinion_qp *qp);
bool pinion_raw_sq_is_sane(const struct pinion_qp *qp);
bool pinion_raw_sq_has_room(const struct pinion_qp *qp);
/* A value that changes when the queue makes progress. */
u64 pinion_raw_sq_progress(const struct pinion_qp *qp);

/* Fill @facts with both indices, for path/look.c. sq.exec (rq.lock below) is not needed. */
void pinion_raw_sq_look(const struct pinion_qp *qp, struct pinion_ring_facts *facts);
void pinion_raw_rq_look(const struct pinion_raw_rq *raw, struct pinion_ring_facts *facts);

/* As pinion_recvq_take() and pinion_recvq_count(). */
int pinion_raw_rq_take(struct pinion_raw_rq *raw, struct pinion_recv *recv);
u32 pinion_raw_rq_count(const struct pinion_raw_rq *raw);

#endif
