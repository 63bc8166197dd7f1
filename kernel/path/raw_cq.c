// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Writes completions in mlx5's format to memory of the program, whose contents are never trusted.
 */
#include <linux/bits.h>
#include <linux/string.h>

#include "../logic/mlx5_cqe.h"
#include "raw_cq.h"

#define COUNTER_MASK	0xffffff

/* In the arm word, which has the consumer index at the time of arming in its low 24 bits. */
#define ARM_SOLICITED	BIT(24)

u32 pinion_raw_cq_consumer(const struct pinion_raw_cq *raw)
{
	const __be32 *record = raw->record.at;

	return be32_to_cpu(READ_ONCE(*record)) & COUNTER_MASK;
}

void pinion_raw_cq_look(const struct pinion_raw_cq *raw, u32 tail,
			struct pinion_ring_facts *facts)
{
	facts->entries = raw->entries;
	facts->stride = raw->stride;
	facts->kern_idx = tail;
	facts->user_idx = tail - ((tail - pinion_raw_cq_consumer(raw)) & COUNTER_MASK);
}

/* An impossible index counts as a full queue. */
bool pinion_raw_cq_has_room(const struct pinion_raw_cq *raw, u32 tail)
{
	u32 used = (tail - pinion_raw_cq_consumer(raw)) & COUNTER_MASK;

	/* Do not write to a slot before the index is read that says it was polled. */
	smp_rmb();
	return used < raw->entries;
}

static u32 raw_cq_arm(const struct pinion_raw_cq *raw)
{
	const __be32 *record = raw->record.at;

	return be32_to_cpu(READ_ONCE(record[1]));
}

/* The arm word has a counter of events, so it differs from @fired each time it is armed anew. */
static bool raw_cq_waits(const struct pinion_raw_cq *raw, u32 arm, u32 tail)
{
	u32 end = arm & ARM_SOLICITED ? READ_ONCE(raw->solicited) : tail;

	return arm != READ_ONCE(raw->fired) &&
	       ((end - arm - 1) & COUNTER_MASK) < raw->entries;
}

bool pinion_raw_cq_is_due(const struct pinion_raw_cq *raw, u32 tail)
{
	return raw_cq_waits(raw, raw_cq_arm(raw), tail);
}

bool pinion_raw_cq_disarm(struct pinion_raw_cq *raw, u32 tail)
{
	u32 arm = raw_cq_arm(raw);

	if (!raw_cq_waits(raw, arm, tail))
		return false;
	WRITE_ONCE(raw->fired, arm);
	return true;
}

void pinion_raw_cq_put(struct pinion_raw_cq *raw, u32 tail, const struct pinion_cqe *cqe)
{
	const struct pinion_mlx5_cqe_of of = {
		.receive = cqe->wr_id >> 24 & 1,
		.opcode = cqe->wr_id >> 16,
		.wqe_counter = cqe->wr_id,
		.srqn = cqe->wr_id >> 32,
	};
	u64 slot = tail & (raw->entries - 1);
	u8 *to = pinion_mlx5_cqe_in(raw->ring.at + slot * raw->stride, raw->stride);
	u8 bytes[PINION_MLX5_CQE - 1];
	u8 own;

	if (cqe->status || cqe->flags & PINION_CQE_SOLICITED)
		WRITE_ONCE(raw->solicited, tail + 1);
	own = pinion_mlx5_cqe_fill(bytes, cqe, &of, tail, raw->entries);
	memcpy(to, bytes, sizeof(bytes));
	/* The owner byte last: by it the program sees that the slot is valid. */
	smp_store_release(&to[PINION_MLX5_CQE - 1], own);
}
