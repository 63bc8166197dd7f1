// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Writes mlx5's events.
 */
#include <linux/kernel.h>
#include <linux/string.h>
#include <linux/unaligned.h>

#include "mlx5_eqe.h"

#define EQE_TYPE	1
/* Offset of the number in an event of type CQ_ERROR; EQE_NUMBER is for the other types. */
#define EQE_ERRED	32
#define EQE_SYNDROME	43
#define EQE_NUMBER	56

/* The syndrome of CQ_ERROR: the queue has overflowed. */
#define CQ_OVERRUN	1

static const struct mlx5_event_kind {
	u8 type;
	u8 of;
} mlx5_event_kinds[] = {
	{ PINION_MLX5_COMPLETION,	PINION_MLX5_OF_CQ },
	{ PINION_MLX5_CQ_ERROR,		PINION_MLX5_OF_CQ },
	{ PINION_MLX5_COMM_EST,		PINION_MLX5_OF_QP },
	{ PINION_MLX5_SQ_DRAINED,	PINION_MLX5_OF_QP },
	{ PINION_MLX5_QP_FATAL,		PINION_MLX5_OF_QP },
	{ PINION_MLX5_QP_REQUEST,	PINION_MLX5_OF_QP },
	{ PINION_MLX5_QP_ACCESS,	PINION_MLX5_OF_QP },
	{ PINION_MLX5_LAST_WQE,		PINION_MLX5_OF_QP },
	{ PINION_MLX5_SRQ_LIMIT,	PINION_MLX5_OF_SRQ },
};

bool pinion_mlx5_event_is_of(u16 type, enum pinion_mlx5_event_of of)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(mlx5_event_kinds); i++) {
		if (mlx5_event_kinds[i].type == type && mlx5_event_kinds[i].of == of)
			return true;
	}
	return false;
}

void pinion_mlx5_eqe_fill(u8 to[PINION_MLX5_EQE], u8 type, u32 number)
{
	memset(to, 0, PINION_MLX5_EQE);
	to[EQE_TYPE] = type;
	if (type != PINION_MLX5_CQ_ERROR) {
		put_unaligned_be32(number, to + EQE_NUMBER);
		return;
	}
	put_unaligned_be32(number, to + EQE_ERRED);
	to[EQE_SYNDROME] = CQ_OVERRUN;
}
