// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Writes completions of mlx5's format into memory of their user. Believes nothing of it.
 */
#include <linux/string.h>

#include "../logic/mlx5_cqe.h"
#include "raw_cq.h"

#define COUNTER_MASK	0xffffff

u32 pinion_raw_cq_consumer(const struct pinion_raw_cq *raw)
{
	const __be32 *record = raw->record.at;

	return be32_to_cpu(READ_ONCE(*record)) & COUNTER_MASK;
}

/* A number that makes no sense reads as full. */
bool pinion_raw_cq_has_room(const struct pinion_raw_cq *raw, u32 tail)
{
	u32 used = (tail - pinion_raw_cq_consumer(raw)) & COUNTER_MASK;

	/* What was read of a slot was read before its user said so. */
	smp_rmb();
	return used < raw->entries;
}

void pinion_raw_cq_put(const struct pinion_raw_cq *raw, u32 tail, const struct pinion_cqe *cqe)
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

	own = pinion_mlx5_cqe_fill(bytes, cqe, &of, tail, raw->entries);
	memcpy(to, bytes, sizeof(bytes));
	/* Whose it is comes last: who polls looks at it first. */
	smp_store_release(&to[PINION_MLX5_CQE - 1], own);
}
