/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A completion queue in mlx5's format, in memory of its user, who says in a doorbell record
 * how far he has come. Either may change at any time, and may be the other.
 */
#ifndef PINION_PATH_RAW_CQ_H
#define PINION_PATH_RAW_CQ_H

#include <linux/list.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include "../mem/umem.h"

struct pinion_bells;
struct pinion_cq;
struct pinion_cqe;
struct pinion_ring_facts;

struct pinion_raw_cq {
	struct pinion_view ring;
	struct pinion_view record;
	u32 entries;			/* a power of two */
	u32 stride;
	/* Both under fill_lock, but for bell.c, which looks at them from without. */
	u32 fired;			/* what its user waited for when he was told last */
	u32 solicited;			/* behind the last completion that was */

	/* For whom waits for what is there already, of which no completion tells: bell.c's */
	struct pinion_cq *cq;
	struct pinion_bells *bells;
	struct list_head list;
	u32 seen;
	unsigned long since;		/* jiffies: when that was seen first */
	bool polls;			/* its user asks, then polls what is there already */
	struct work_struct late;	/* complete.c's: he is told */
};

/* Of a record: how far its user has come, of which there are 24 bits; then what he waits for. */
#define PINION_RAW_RECORD	8

/* How far its user says he is. */
u32 pinion_raw_cq_consumer(const struct pinion_raw_cq *raw);

/* Is there room for the completion numbered @tail? Under the queue's fill_lock, as below. */
bool pinion_raw_cq_has_room(const struct pinion_raw_cq *raw, u32 tail);

/* @cqe as number @tail; its wr_id is a pinion_raw_id(). */
void pinion_raw_cq_put(struct pinion_raw_cq *raw, u32 tail, const struct pinion_cqe *cqe);

/* How far its user is, and we are: for who only looks. Under fill_lock. */
void pinion_raw_cq_look(const struct pinion_raw_cq *raw, u32 tail,
			struct pinion_ring_facts *facts);

/*
 * Does its user wait for what there is before @tail, as he says in his record, and was not told of
 * yet? Not of completions that he knows of; of solicited ones alone, if he says so.
 */
bool pinion_raw_cq_is_due(const struct pinion_raw_cq *raw, u32 tail);
/* Likewise under fill_lock, and from then on he was told. */
bool pinion_raw_cq_disarm(struct pinion_raw_cq *raw, u32 tail);

/*
 * What completions of mlx5 tell of a request and ours do not, in place of a number of its user's:
 * there is none.
 */
static inline u64 pinion_raw_id(bool receive, u8 opcode, u16 wqe_counter, u32 user_index)
{
	return (u64)user_index << 32 | (u32)receive << 24 | (u32)opcode << 16 | wqe_counter;
}

#endif
