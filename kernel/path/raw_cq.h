/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A completion queue in mlx5's format, in memory of its user, who says in a doorbell record
 * how far he has come. Either may change at any time, and may be the other.
 */
#ifndef PINION_PATH_RAW_CQ_H
#define PINION_PATH_RAW_CQ_H

#include <linux/types.h>

#include "../mem/umem.h"

struct pinion_cqe;

struct pinion_raw_cq {
	struct pinion_view ring;
	struct pinion_view record;
	u32 entries;			/* a power of two */
	u32 stride;
};

/* Of a record: how far its user has come, of which there are 24 bits; then what he waits for. */
#define PINION_RAW_RECORD	8

/* How far its user says he is. */
u32 pinion_raw_cq_consumer(const struct pinion_raw_cq *raw);

/* Is there room for the completion numbered @tail? Under the queue's fill_lock, as below. */
bool pinion_raw_cq_has_room(const struct pinion_raw_cq *raw, u32 tail);

/* @cqe as number @tail; its wr_id is a pinion_raw_id(). */
void pinion_raw_cq_put(const struct pinion_raw_cq *raw, u32 tail, const struct pinion_cqe *cqe);

/*
 * What completions of mlx5 tell of a request and ours do not, in place of a number of its user's:
 * there is none.
 */
static inline u64 pinion_raw_id(bool receive, u8 opcode, u16 wqe_counter, u32 user_index)
{
	return (u64)user_index << 32 | (u32)receive << 24 | (u32)opcode << 16 | wqe_counter;
}

#endif
