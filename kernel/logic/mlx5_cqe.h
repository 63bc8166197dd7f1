/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Completions as mlx5's queues have them: 64 bytes, alone or behind 64 more, of which the
 * last byte says whose they are.
 */
#ifndef PINION_LOGIC_MLX5_CQE_H
#define PINION_LOGIC_MLX5_CQE_H

#include <linux/types.h>
#include <rdma/pinion-abi.h>

#define PINION_MLX5_CQE		64

/* What a completion of ours does not say. */
struct pinion_mlx5_cqe_of {
	bool receive;
	u8 opcode;		/* of a send: enum pinion_opcode */
	u16 wqe_counter;	/* of the request: its first block, or its slot */
	u32 srqn;		/* 24 bits, or the user's own index */
};

/*
 * @cqe as mlx5's, but for its last byte, which is returned: whose it is must be the last thing
 * that is written. @index is that of the slot, counted on and on, in a queue of @size, a
 * power of two.
 */
u8 pinion_mlx5_cqe_fill(u8 to[PINION_MLX5_CQE - 1], const struct pinion_cqe *cqe,
			const struct pinion_mlx5_cqe_of *of, u32 index, u32 size);

/* In a slot of @stride bytes, 64 or 128, the last 64. */
static inline u8 *pinion_mlx5_cqe_in(void *slot, u32 stride)
{
	return (u8 *)slot + stride - PINION_MLX5_CQE;
}

#endif
