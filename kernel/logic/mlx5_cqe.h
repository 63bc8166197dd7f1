/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Completions in mlx5's format: 64 bytes, or the last 64 of 128. The last byte says whether the
 * entry is valid.
 */
#ifndef PINION_LOGIC_MLX5_CQE_H
#define PINION_LOGIC_MLX5_CQE_H

#include <linux/types.h>
#include <rdma/pinion-abi.h>

#define PINION_MLX5_CQE		64

/* Fields of a completion beyond struct pinion_cqe. */
struct pinion_mlx5_cqe_of {
	bool receive;
	u8 opcode;		/* of a send: enum pinion_opcode */
	u16 wqe_counter;	/* of the request: its first block, or its slot */
	u32 srqn;		/* number of the shared queue (24 bits), or the user index */
};

/*
 * Convert @cqe to mlx5's format, without the last byte. Return: that byte, which the caller writes
 * last, as it makes the entry valid. @index is the free-running index of the slot in a queue of
 * @size, a power of two.
 */
u8 pinion_mlx5_cqe_fill(u8 to[PINION_MLX5_CQE - 1], const struct pinion_cqe *cqe,
			const struct pinion_mlx5_cqe_of *of, u32 index, u32 size);
/* Fill the completion that ends a ring which was resized; it has no request. Return as above. */
u8 pinion_mlx5_cqe_fill_resized(u8 to[PINION_MLX5_CQE - 1], u32 index, u32 size);

/* The entry in a slot of @stride bytes (64 or 128). */
static inline u8 *pinion_mlx5_cqe_in(void *slot, u32 stride)
{
	return (u8 *)slot + stride - PINION_MLX5_CQE;
}

#endif
